/** The endpoints of the organisation's OAuth clients (auth providers) for connectors. Specification: Surface C. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import { UpsertAuthProvider } from "../../domain/connector/ConnectorRecord.js"
import { Audited, auditAction, Permit, auditRead, Scoped, Shared } from "../Endpoint.js"
import { Data, Page, putPayload, Time } from "./Shapes.js"

const AuthProviderView = Schema.Struct({
  id: Schema.String,
  connector: Schema.String,
  name: Schema.String,
  methodId: Schema.String,
  clientId: Schema.String,
  hasClientSecret: Schema.Boolean,
  scopes: Schema.Array(Schema.String),
  isDefault: Schema.Boolean,
  redirectUri: Schema.String.annotations({
    description: "the redirect URI to register for the client at the provider"
  }),
  createdAt: Time,
  updatedAt: Time,
  version: Schema.Number
}).annotations({ identifier: "AuthProvider" })

const path = Schema.Struct({ ctr: Schema.String })
const basePath = "/api/v1/connectors/:ctr/auth-providers"

/** Auth providers on surface C. */
export const AuthProvidersApi = HttpApiGroup.make("authProviders")
  .add(
    HttpApiEndpoint.get("list", basePath)
      .setPath(path)
      .addSuccess(Page(AuthProviderView))
      .annotate(Permit, "connectors:read")
      .annotate(Audited, auditRead("auth_provider"))
      .annotate(Shared, "read")
      .annotate(Scoped, { connector: "record" })
  )
  .add(
    HttpApiEndpoint.put("upsert", basePath)
      .setPath(path)
      .setPayload(putPayload(UpsertAuthProvider, AuthProviderView))
      .addSuccess(Data(AuthProviderView))
      .annotate(Permit, "connectors:write")
      .annotate(Audited, auditAction("auth_provider.upsert"))
      .annotate(Shared, "change")
      .annotate(Scoped, { connector: "record" })
  )
  .add(
    HttpApiEndpoint.del("delete", `${basePath}/:aid`)
      .setPath(Schema.Struct({ ctr: Schema.String, aid: Schema.String }))
      .addSuccess(HttpApiSchema.NoContent)
      .annotate(Permit, "connectors:write")
      .annotate(Audited, auditAction("auth_provider.delete"))
      .annotate(Shared, "change")
      .annotate(Scoped, { connector: "record" })
  )
