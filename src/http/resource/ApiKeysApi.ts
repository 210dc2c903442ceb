/** The endpoints of API keys; DELETE revokes a key. Specification: API key fields and rules. */
import { HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { CreateApiKey, KeyMode, UpdateApiKey } from "../../domain/ApiKey.js"
import { ResourceScope } from "../../domain/ResourceScope.js"
import { PermissionMatrix, Preset } from "../../domain/Permission.js"
import { Audited, auditAction, NoStore, Permit, auditRead, Scoped, Shared } from "../Endpoint.js"
import { CreatedData, Data, listParams, NullableTime, Page, putPayload, strictPayload, Time } from "./Shapes.js"

const fields = {
  id: Schema.String,
  name: Schema.String,
  prefix: Schema.String,
  last4: Schema.String,
  key: Schema.String.annotations({
    description: "prefix and last four characters; the whole key only in the answer that creates or rotates it"
  }),
  mode: KeyMode,
  preset: Preset,
  permissions: PermissionMatrix,
  customers: Schema.Struct({ mode: Schema.Literal("all", "subset"), ids: Schema.Array(Schema.String) }),
  hmac: Schema.Struct({ enabled: Schema.Boolean }),
  resourceScope: ResourceScope,
  allowedIps: Schema.Array(Schema.String),
  rateLimitPerMinute: Schema.NullOr(Schema.Number),
  expiresAt: NullableTime,
  status: Schema.Literal("active", "revoked", "expired"),
  lastUsedAt: NullableTime,
  rotatedAt: NullableTime,
  createdBy: Schema.String,
  createdAt: Time,
  updatedAt: Time,
  version: Schema.Number
}

const ApiKeyView = Schema.Struct(fields).annotations({ identifier: "ApiKey" })
/** The answer that shows the whole key and the identity secret once. */
const IssuedApiKey = Schema.Struct({ ...fields, hmacSecret: Schema.NullOr(Schema.String) }).annotations({
  identifier: "IssuedApiKey"
})

const Rotate = Schema.Struct({ graceSeconds: Schema.optional(Schema.Int.pipe(Schema.between(0, 86_400))) })
const IdentitySecret = Schema.Struct({ hmacSecret: Schema.String }).annotations({ identifier: "IdentitySecret" })

const path = Schema.Struct({ kid: Schema.String })
const basePath = "/api/v1/api-keys"

/** API keys on surface C. */
export const ApiKeysApi = HttpApiGroup.make("apiKeys")
  .add(
    HttpApiEndpoint.get("list", basePath)
      .setUrlParams(Schema.Struct({ ...listParams, mode: Schema.optional(Schema.Literal("all", "live", "test")) }))
      .addSuccess(Page(ApiKeyView))
      .annotate(Permit, "settings:read")
      .annotate(Audited, auditRead("api_key"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, {})
  )
  .add(
    HttpApiEndpoint.post("create", basePath)
      .setPayload(strictPayload(CreateApiKey))
      .addSuccess(CreatedData(IssuedApiKey))
      .annotate(Permit, "settings:manage")
      .annotate(Audited, auditAction("api_key.create"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, {})
      .annotate(NoStore, true)
  )
  .add(
    HttpApiEndpoint.get("get", `${basePath}/:kid`)
      .setPath(path)
      .addSuccess(Data(ApiKeyView))
      .annotate(Permit, "settings:read")
      .annotate(Audited, auditRead("api_key"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, {})
  )
  .add(
    HttpApiEndpoint.put("update", `${basePath}/:kid`)
      .setPath(path)
      .setPayload(putPayload(UpdateApiKey, ApiKeyView))
      .addSuccess(Data(ApiKeyView))
      .annotate(Permit, "settings:manage")
      .annotate(Audited, auditAction("api_key.update"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, {})
  )
  .add(
    HttpApiEndpoint.del("revoke", `${basePath}/:kid`)
      .setPath(path)
      .addSuccess(Data(ApiKeyView))
      .annotate(Permit, "settings:manage")
      .annotate(Audited, auditAction("api_key.revoke"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, {})
  )
  .add(
    HttpApiEndpoint.post("rotate", `${basePath}/:kid/rotate`)
      .setPath(path)
      .setPayload(strictPayload(Rotate))
      .addSuccess(Data(IssuedApiKey))
      .annotate(Permit, "settings:manage")
      .annotate(Audited, auditAction("api_key.rotate"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, {})
      .annotate(NoStore, true)
  )
  .add(
    HttpApiEndpoint.post("identitySecret", `${basePath}/:kid/identity-secret`)
      .setPath(path)
      .addSuccess(Data(IdentitySecret))
      .annotate(Permit, "settings:manage")
      .annotate(Audited, auditAction("api_key.reveal_identity_secret"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, {})
      .annotate(NoStore, true)
  )
