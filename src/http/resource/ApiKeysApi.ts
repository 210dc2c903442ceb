/** API keys. Specification: API key fields and rules; there is no delete: DELETE revokes. */
import { HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { CreateApiKey, KeyMode, UpdateApiKey } from "../../domain/ApiKey.js"
import { ResourceScope } from "../../domain/ResourceScope.js"
import { PermissionMatrix, Preset } from "../../domain/Permission.js"
import { Audited, audited, NoStore, Permit, read, Scoped, Shared } from "../Endpoint.js"
import { created, Data, listParams, NullableTime, Page, replacing, strict, Time } from "./Shapes.js"

const fields = {
  id: Schema.String,
  name: Schema.String,
  prefix: Schema.String,
  last4: Schema.String,
  key: Schema.String.annotations({
    description: "prefix and last four characters; the whole key only where it is made or rotated"
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
/** Shown once. */
const IssuedApiKey = Schema.Struct({ ...fields, hmacSecret: Schema.NullOr(Schema.String) }).annotations({
  identifier: "IssuedApiKey"
})

const Rotate = Schema.Struct({ graceSeconds: Schema.optional(Schema.Int.pipe(Schema.between(0, 86_400))) })
const IdentitySecret = Schema.Struct({ hmacSecret: Schema.String }).annotations({ identifier: "IdentitySecret" })

const path = Schema.Struct({ kid: Schema.String })
const at = "/api/v1/api-keys"

export const ApiKeysApi = HttpApiGroup.make("apiKeys")
  .add(
    HttpApiEndpoint.get("list", at)
      .setUrlParams(Schema.Struct({ ...listParams, mode: Schema.optional(Schema.Literal("all", "live", "test")) }))
      .addSuccess(Page(ApiKeyView))
      .annotate(Permit, "settings:read")
      .annotate(Audited, read("api_key"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, {})
  )
  .add(
    HttpApiEndpoint.post("create", at)
      .setPayload(strict(CreateApiKey))
      .addSuccess(created(IssuedApiKey))
      .annotate(Permit, "settings:manage")
      .annotate(Audited, audited("api_key.create"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, {})
      .annotate(NoStore, true)
  )
  .add(
    HttpApiEndpoint.get("get", `${at}/:kid`)
      .setPath(path)
      .addSuccess(Data(ApiKeyView))
      .annotate(Permit, "settings:read")
      .annotate(Audited, read("api_key"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, {})
  )
  .add(
    HttpApiEndpoint.put("update", `${at}/:kid`)
      .setPath(path)
      .setPayload(replacing(UpdateApiKey, ApiKeyView))
      .addSuccess(Data(ApiKeyView))
      .annotate(Permit, "settings:manage")
      .annotate(Audited, audited("api_key.update"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, {})
  )
  .add(
    HttpApiEndpoint.del("revoke", `${at}/:kid`)
      .setPath(path)
      .addSuccess(Data(ApiKeyView))
      .annotate(Permit, "settings:manage")
      .annotate(Audited, audited("api_key.revoke"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, {})
  )
  .add(
    HttpApiEndpoint.post("rotate", `${at}/:kid/rotate`)
      .setPath(path)
      .setPayload(strict(Rotate))
      .addSuccess(Data(IssuedApiKey))
      .annotate(Permit, "settings:manage")
      .annotate(Audited, audited("api_key.rotate"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, {})
      .annotate(NoStore, true)
  )
  .add(
    HttpApiEndpoint.post("identitySecret", `${at}/:kid/identity-secret`)
      .setPath(path)
      .addSuccess(Data(IdentitySecret))
      .annotate(Permit, "settings:manage")
      .annotate(Audited, audited("api_key.reveal_identity_secret"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, {})
      .annotate(NoStore, true)
  )
