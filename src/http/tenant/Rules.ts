/** Surface B's rules: key and workspace are sent in headers of their own; `authorization` belongs to the flow. Contract: B. */
import { InvalidRequest } from "../../domain/Failure.js"
import type { SurfaceRules } from "../pipeline/Pipeline.js"
import { tenantErrorReply, tenantFailureReply } from "./ErrorRows.js"

const spaceHeader = "x-svc-space-id"

/** The rules that the pipeline applies to surface B. */
export const tenantRules: SurfaceRules = {
  // `authorization` has the token of a flow's own authentication, never a key.
  selectHeaders: (sent) => {
    if (sent["authorization"] === undefined) return sent
    const { authorization: _flows, ...headers } = sent
    return headers
  },
  keyHint: "send x-svc-api-key: <key>",
  missingHeader: ({ headers }) =>
    headers[spaceHeader] === undefined || headers[spaceHeader] === ""
      ? new InvalidRequest({ code: "MISSING_SPACE_ID", message: `name your workspace in the header ${spaceHeader}` })
      : undefined,
  failureReply: tenantFailureReply,
  errorReply: tenantErrorReply
}

/** Whether a path is one of surface B. */
export const isTenantPath = (path: string): boolean => path.startsWith("/api/v1/tenants/")

/** Whether a path without a route is meant for surface B: by its beginning, or by the header that only surface B has. */
export const isMeantForTenants = (path: string, headers: { readonly [name: string]: string }): boolean =>
  /^\/api\/v1\/(?:tenants|clients)(?:\/|$)/.test(path) || (headers[spaceHeader] ?? "") !== ""

/** Whether a request at a path that surfaces B and C share is one of B: it has the headers that B needs. */
export const isSentByTenants = (headers: { readonly [name: string]: string }): boolean =>
  (headers["x-svc-api-key"] ?? "") !== "" && (headers[spaceHeader] ?? "") !== ""
