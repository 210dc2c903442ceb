/** The operations on API keys; DELETE revokes a key. Specification: API key fields and rules. */
import { Schema } from "effect"
import { ApiKey, CreateApiKey, UpdateApiKey } from "../../domain/access/ApiKey.js"
import { auditAction } from "../operation/Contract.js"
import { operationsOf } from "../operation/Operation.js"
import { putPayload, strictPayload } from "../PayloadSchema.js"
import { ApiKeyList, ApiKeys } from "../../actors/management/access/ApiKeys.js"
import { record, newRecord, page } from "../operation/Output.js"

/** The answer that shows the whole key and the identity secret once. */
const IssuedApiKey = Schema.Struct({ ...ApiKey.View.fields, hmacSecret: Schema.NullOr(Schema.String) }).annotations({
  identifier: "IssuedApiKey"
})

const Rotate = Schema.Struct({ graceSeconds: Schema.optional(Schema.Int.pipe(Schema.between(0, 86_400))) })

const IdentitySecret = Schema.Struct({ hmacSecret: Schema.String }).annotations({ identifier: "IdentitySecret" })

const ofApiKeys = operationsOf({
  parameters: { kid: "The id of the API key." },
  with: ApiKeys,
  resource: "api_key",
  sharing: "hidden",
  scoped: {}
})

/** The operations of the group `apiKeys`, in the order of the documents. */
export const apiKeysOperations = [
  ofApiKeys({
    name: "apiKeys.list",
    summary: "List API keys",
    description: "Lists the keys of the workspace with their permissions. Their secrets are never listed.",
    answers: { 200: "A page of API keys." },
    parameters: { mode: "Only keys of this mode." },
    route: "GET /api/v1/api-keys",
    query: ApiKeyList,
    output: page(ApiKey.View),
    permit: "settings:read",
    use: (keys, { context, query }) => keys.list(context, query)
  }),
  ofApiKeys({
    name: "apiKeys.create",
    summary: "Create an API key",
    description:
      "Creates a key with at most the permissions of the calling one. Its text is shown in this answer only.",
    answers: { 201: "The key is created. `key` is its whole text." },
    example: { name: "Reporting", mode: "live", preset: "viewer", expires: "90d" },
    route: "POST /api/v1/api-keys",
    body: strictPayload(CreateApiKey),
    output: newRecord(IssuedApiKey),
    permit: "settings:manage",
    noStore: true,
    use: (keys, { context, body }) => keys.create(context, body)
  }),
  ofApiKeys({
    name: "apiKeys.get",
    summary: "Read an API key",
    description: "Reads the permissions and limits of a key, without its secret.",
    answers: { 200: "The API key." },
    route: "GET /api/v1/api-keys/:kid",
    output: record(ApiKey.View),
    permit: "settings:read",
    use: (keys, { context, path }) => keys.get(context, path.kid)
  }),
  ofApiKeys({
    name: "apiKeys.update",
    summary: "Change an API key",
    description:
      "Changes the name, permissions, customers, addresses or rate limit of a key. It never gets more than the calling key has.",
    answers: { 200: "The API key after the change." },
    example: { name: "Reporting, nightly", rateLimitPerMinute: 120 },
    route: "PUT /api/v1/api-keys/:kid",
    body: putPayload(UpdateApiKey, ApiKey.View),
    output: record(ApiKey.View),
    permit: "settings:manage",
    use: (keys, { context, path, body }) => keys.update(context, path.kid, body)
  }),
  ofApiKeys({
    name: "apiKeys.revoke",
    summary: "Revoke an API key",
    description: "Revokes a key permanently. Revoking it again changes nothing. Keys cannot be deleted.",
    answers: { 200: "The revoked API key." },
    route: "DELETE /api/v1/api-keys/:kid",
    output: record(ApiKey.View),
    permit: "settings:manage",
    use: (keys, { context, path }) => keys.revoke(context, path.kid)
  }),
  ofApiKeys({
    name: "apiKeys.rotate",
    summary: "Rotate an API key",
    description:
      "Gives a key a new text. The old one stays valid for `graceSeconds`; without it, it is invalid at once.",
    answers: { 200: "The key with its new text, which is shown in this answer only." },
    example: { graceSeconds: 3600 },
    route: "POST /api/v1/api-keys/:kid/rotate",
    body: strictPayload(Rotate),
    output: record(IssuedApiKey),
    permit: "settings:manage",
    noStore: true,
    use: (keys, { context, path, body }) => keys.rotate(context, path.kid, body.graceSeconds ?? 0)
  }),
  ofApiKeys({
    name: "apiKeys.identitySecret",
    summary: "Reveal an identity secret",
    description: "Reveals the secret with which callers of this key sign their requests. The call is audited.",
    answers: { 200: "The identity secret." },
    route: "POST /api/v1/api-keys/:kid/identity-secret",
    output: record(IdentitySecret),
    permit: "settings:manage",
    audit: auditAction("api_key.reveal_identity_secret"),
    noStore: true,
    use: (keys, { context, path }) => keys.revealIdentitySecret(context, path.kid)
  })
] as const
