/** How surface B takes requests: a key and its workspace in headers, and `authorization` left to the flow. Contract: B. */
import { InvalidRequest } from "../../domain/Failure.js"
import type { SurfaceRules } from "../pipeline/Pipeline.js"
import { tenantError, tenantFailure } from "./Errors.js"

const spaceHeader = "x-svc-space-id"

export const tenantRules: SurfaceRules = {
  // It is the token of a flow's own authentication, and never a key.
  headers: (sent) => {
    const { authorization: _flows, ...headers } = sent
    return headers
  },
  howTo: "send x-svc-api-key: <key>",
  missing: ({ headers }) =>
    headers[spaceHeader] === undefined || headers[spaceHeader] === ""
      ? new InvalidRequest({ code: "MISSING_SPACE_ID", message: `name your workspace in the header ${spaceHeader}` })
      : undefined,
  failure: tenantFailure,
  error: tenantError
}

/** Whether a path is one of surface B. */
export const isTenantPath = (path: string): boolean => path.startsWith("/api/v1/tenants/")
