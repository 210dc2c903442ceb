/** An encrypted value that the organisation holds itself. Contract: secret record. */
import { Schema } from "effect"
import { invalid, type ValidationFailed } from "./Failure.js"
import type { CustomerId, OrganisationId, SecretId, SpaceId } from "./Ids.js"
import { Json, unstorable, unstorableMessage } from "./Json.js"
import { secretLength } from "./Limits.js"

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

/** Where the value of one version of a secret is sealed. */
export const secretPlace = (organisation: string, id: string, number: number) => ({
  organisation,
  table: "secret_versions",
  column: "sealed",
  row: `${id}/${number}`
})

export const CreateSecret = Schema.Struct({
  name: Schema.String.pipe(
    Schema.pattern(secretNamePattern, { message: () => "must be UPPER_SNAKE_CASE, at most 64 characters" })
  ),
  type: Schema.optional(Schema.Literal("text", "json")),
  value: Json,
  customerId: Schema.optional(Schema.NullOr(Schema.String)),
  environment: Schema.optional(Schema.NullOr(Schema.String.pipe(Schema.maxLength(63))))
}).annotations({ identifier: "CreateSecret" })
export type CreateSecret = typeof CreateSecret.Type

export const secretView = (secret: Secret) => ({
  id: secret.id,
  name: secret.name,
  type: secret.type,
  scope: { customerId: secret.customerId, environment: secret.environment },
  createdAt: secret.createdAt,
  updatedAt: secret.updatedAt,
  version: secret.version
})

/** The text that is sealed. JSON may be given as a value or as its text; what is no JSON is refused. */
export const secretText = (type: Secret["type"], value: Json): string | ValidationFailed => {
  const text = typeof value === "string" ? value : type === "json" ? JSON.stringify(value) : undefined
  if (text === undefined) return invalid("value", "INVALID_TYPE", "must be text; JSON needs the type json")
  if (text === "") return invalid("value", "REQUIRED", "must not be empty")
  if (text.length > secretLength)
    return invalid("value", "OUT_OF_RANGE", `must have at most ${secretLength} characters`)
  return type === "json" ? (jsonMistake(text) ?? text) : text
}

/** The value as a reader gets it. */
export const secretValue = (type: Secret["type"], text: string): Json => {
  if (type === "text") return text
  const value: Json = JSON.parse(text)
  return value
}

const jsonMistake = (text: string): ValidationFailed | undefined => {
  try {
    const bad = unstorable(JSON.parse(text))
    return bad === undefined ? undefined : invalid("value", "NOT_STORABLE", unstorableMessage[bad.reason])
  } catch {
    return invalid("value", "SYNTAX_ERROR", "is not JSON, which a secret of the type json must be")
  }
}

/** The first version of a secret. */
export const newSecret = (
  place: Pick<Secret, "id" | "organisationId" | "spaceId" | "name" | "type" | "customerId" | "environment">,
  now: string
): Secret => ({ ...place, current: 1, createdAt: now, updatedAt: now, deletedAt: null, version: 1 })

/** The secret with its next value. */
export const overwrittenSecret = (before: Secret, type: Secret["type"], now: string): Secret => ({
  ...before,
  type,
  current: before.current + 1,
  updatedAt: now,
  version: before.version + 1
})

export const deletedSecret = (before: Secret, now: string): Secret => ({
  ...before,
  deletedAt: now,
  updatedAt: now,
  version: before.version + 1
})
