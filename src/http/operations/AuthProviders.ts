/** The operations on the organisation's OAuth clients (auth providers) for connectors. Specification: Surface C. */
import { AuthProvider, UpsertAuthProvider } from "../../domain/connector/ConnectorRecord.js"
import { operationsOf } from "../operation/Operation.js"
import { putPayload } from "../PayloadSchema.js"
import { AuthProviders } from "../../actors/management/connection/AuthProviders.js"
import { record, page, empty } from "../operation/Output.js"

const ofAuthProviders = operationsOf({
  with: AuthProviders,
  resource: "auth_provider",
  sharing: "change",
  scoped: { connector: "record" }
})

/** The operations of the group `authProviders`, in the order of the documents. */
export const authProvidersOperations = [
  ofAuthProviders({
    name: "authProviders.list",
    summary: "List auth providers",
    description: "Lists the OAuth clients that the organisation has registered for a connector.",
    answers: { 200: "A page of auth providers." },
    route: "GET /api/v1/connectors/:ctr/auth-providers",
    output: page(AuthProvider.View),
    permit: "connectors:read",
    sharing: "read",
    use: (providers, { context, path }) => providers.list(context, path.ctr)
  }),
  ofAuthProviders({
    name: "authProviders.upsert",
    summary: "Store an auth provider",
    description:
      "Stores an OAuth client under its name. Register it at the provider with `redirectUri`. The client secret is never answered.",
    answers: { 200: "The auth provider." },
    example: { name: "default", methodId: "oauth", clientId: "svc-client", clientSecret: "s3cr3t", isDefault: true },
    route: "PUT /api/v1/connectors/:ctr/auth-providers",
    body: putPayload(UpsertAuthProvider, AuthProvider.View),
    output: record(AuthProvider.View),
    permit: "connectors:write",
    use: (providers, { context, path, body }) => providers.upsert(context, path.ctr, body)
  }),
  ofAuthProviders({
    name: "authProviders.delete",
    summary: "Delete an auth provider",
    description: "Deletes an OAuth client that no connection uses.",
    answers: { 204: "The auth provider is deleted." },
    parameters: { aid: "The id of the auth provider." },
    route: "DELETE /api/v1/connectors/:ctr/auth-providers/:aid",
    output: empty,
    permit: "connectors:write",
    use: (providers, { context, path }) => providers.remove(context, path.ctr, path.aid)
  })
] as const
