/** An encrypted value that the organisation holds itself. Contract: secret record. */
import { Schema } from "effect"
import type { CustomerId, OrganisationId, SecretId, SpaceId } from "./Ids.js"
import { Json } from "./Json.js"

export const secretNamePattern = /^[A-Z][A-Z0-9_]{0,63}$/

/** Never holds the value: that is sealed, version by version. */
export interface Secret {
  readonly id: SecretId
  readonly organisationId: OrganisationId
  readonly spaceId: SpaceId
  readonly name: string
  readonly type: "text" | "json"
  readonly customerId: CustomerId | null
  readonly environment: string | null
  /** The number of the value in force. */
  readonly current: number
  readonly createdAt: string
  readonly updatedAt: string
  readonly deletedAt: string | null
  readonly version: number
}

export interface SecretVersion {
  readonly organisationId: OrganisationId
  readonly secretId: SecretId
  readonly number: number
  readonly sealed: Uint8Array
  readonly retiredAt: string | null
}

export const CreateSecret = Schema.Struct({
  name: Schema.String.pipe(Schema.pattern(secretNamePattern, { message: () => "must be UPPER_SNAKE_CASE, at most 64 characters" })),
  type: Schema.optional(Schema.Literal("text", "json")),
  value: Json,
  customerId: Schema.optional(Schema.NullOr(Schema.String)),
  environment: Schema.optional(Schema.NullOr(Schema.String.pipe(Schema.maxLength(63))))
}).annotations({ identifier: "CreateSecret" })
export type CreateSecret = typeof CreateSecret.Type

export const secretView = (secret: Secret) => ({
  id: secret.id, name: secret.name, type: secret.type,
  scope: { customerId: secret.customerId, environment: secret.environment },
  createdAt: secret.createdAt, updatedAt: secret.updatedAt, version: secret.version
})
