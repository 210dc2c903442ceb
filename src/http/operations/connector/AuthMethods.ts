/** The operations on the auth methods of a connector's draft. Specification: Surface C. */
import { PartList } from "../../../actors/management/connector/ConnectorPartReads.js"
import { empty, newRecord, page, record } from "../../operation/Output.js"
import { AuthMethodPart, newPartReply, partReply, PatchBody, readReply, removedReply } from "./PartSchemas.js"
import { changesOfParts, readsOfParts } from "./PartRows.js"

const ofReads = readsOfParts({})
const ofChanges = changesOfParts({ mtd: "The id of the auth method." })

/** The operations of the group `authMethods`, in the order of the documents. */
export const authMethodsOperations = [
  ofReads({
    name: "authMethods.list",
    summary: "List the auth methods of a connector",
    description:
      "Lists the auth methods of the draft, or of the newest version without one. A client secret is never answered.",
    answers: { 200: "A page of auth methods." },
    route: "GET /api/v1/connectors/:ctr/auth-methods",
    query: PartList,
    output: page(AuthMethodPart),
    use: (reads, { context, path, query }) => readReply(context, reads.listAuthMethods(context, path.ctr, query))
  }),
  ofChanges({
    name: "authMethods.create",
    summary: "Add an auth method",
    description:
      "Adds an auth method to the draft. `clientId` and `clientSecret` become the default auth provider of the method; the secret is sealed and never answered.",
    answers: { 201: "The auth method with all defaults." },
    example: { id: "token", type: "api_key", fields: [{ name: "apiKey", secret: true, title: "Access token" }] },
    route: "POST /api/v1/connectors/:ctr/auth-methods",
    body: AuthMethodPart,
    output: newRecord(AuthMethodPart),
    form: { idempotency: "lease" },
    use: (parts, { context, path, body }) =>
      newPartReply(
        context,
        parts.authMethods.create(context, path.ctr, body),
        ({ id }) => `/api/v1/connectors/${path.ctr}/auth-methods/${id}`
      )
  }),
  ofChanges({
    name: "authMethods.update",
    summary: "Change an auth method",
    description:
      "Changes an auth method of the draft by a JSON merge patch (RFC 7396). Connections sign in as defined by the version that they were created with.",
    answers: { 200: "The auth method with all defaults." },
    example: { title: "Personal access token" },
    route: "PATCH /api/v1/connectors/:ctr/auth-methods/:mtd",
    body: PatchBody,
    output: record(AuthMethodPart),
    form: { idempotency: "lease" },
    use: (parts, { context, path, body }) =>
      partReply(context, parts.authMethods.update(context, path.ctr, path.mtd, body))
  }),
  ofChanges({
    name: "authMethods.delete",
    summary: "Remove an auth method",
    description: "Removes an auth method from the draft, which keeps at least one. Published versions keep it.",
    answers: { 204: "The auth method is removed." },
    route: "DELETE /api/v1/connectors/:ctr/auth-methods/:mtd",
    output: empty,
    form: { idempotency: "lease" },
    use: (parts, { context, path }) => removedReply(context, parts.authMethods.remove(context, path.ctr, path.mtd))
  }),
  ofChanges({
    name: "authMethods.setDefault",
    summary: "Make an auth method the default",
    description: "Makes an auth method of the draft the one that connections use if they name none.",
    answers: { 200: "The auth method." },
    route: "POST /api/v1/connectors/:ctr/auth-methods/:mtd/default",
    output: record(AuthMethodPart),
    form: { idempotency: "lease" },
    use: (parts, { context, path }) => partReply(context, parts.authMethods.setDefault(context, path.ctr, path.mtd))
  })
] as const
