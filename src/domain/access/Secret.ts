/** Secrets that the organisation stores: records, versions and their values. Contract: secret record. */
import { Schema } from "effect"
import { invalid, type ValidationFailed } from "../Failure.js"
import type { CustomerId, OrganisationId, SecretId, SpaceId } from "../Ids.js"
import { Json, findUnstorable, unstorableMessage } from "../Json.js"
import { secretLength } from "../Limits.js"

/** The form of a secret's name: UPPER_SNAKE_CASE. */
export const secretNamePattern = /^[A-Z][A-Z0-9_]{0,63}$/

/** The record of a secret. Values are sealed in its versions. */
export interface Secret {
  readonly id: SecretId
  readonly organisationId: OrganisationId
  readonly spaceId: SpaceId
  readonly name: string
  readonly type: "text" | "json"
  readonly customerId: CustomerId | null
  readonly environment: string | null
  /** The number of the current version. */
  readonly current: number
  readonly createdAt: string
  readonly updatedAt: string
  readonly deletedAt: string | null
  readonly version: number
}

/** One sealed value of a secret. */
export interface SecretVersion {
  readonly organisationId: OrganisationId
  readonly secretId: SecretId
  readonly number: number
  readonly sealed: Uint8Array
  readonly retiredAt: string | null
}

/** The place to which the value of a version is sealed. */
export const secretPlace = (organisation: string, id: string, number: number) => ({
  organisation,
  table: "secret_versions",
  column: "sealed",
  row: `${id}/${number}`
})

/** The body that stores a secret. */
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

/** A secret as the API shows it, without its value. */
export const secretView = (secret: Secret) => ({
  id: secret.id,
  name: secret.name,
  type: secret.type,
  scope: { customerId: secret.customerId, environment: secret.environment },
  createdAt: secret.createdAt,
  updatedAt: secret.updatedAt,
  version: secret.version
})

/** The text to seal. JSON may be sent as a value or as text; other text is refused. */
export const secretText = (type: Secret["type"], value: Json): string | ValidationFailed => {
  const text = typeof value === "string" ? value : type === "json" ? JSON.stringify(value) : undefined
  if (text === undefined)
    return invalid("value", "INVALID_TYPE", "must be a string; send other JSON with the type json")
  if (text === "") return invalid("value", "REQUIRED", "must not be empty")
  if (text.length > secretLength)
    return invalid("value", "OUT_OF_RANGE", `must have at most ${secretLength} characters`)
  return type === "json" ? (jsonMistake(text) ?? text) : text
}

/** The value of an opened text. */
export const secretValue = (type: Secret["type"], text: string): Json => {
  if (type === "text") return text
  const value: Json = JSON.parse(text)
  return value
}

const jsonMistake = (text: string): ValidationFailed | undefined => {
  try {
    const unstorablePart = findUnstorable(JSON.parse(text))
    return unstorablePart === undefined
      ? undefined
      : invalid("value", "NOT_STORABLE", unstorableMessage[unstorablePart.reason])
  } catch {
    return invalid("value", "SYNTAX_ERROR", "must be JSON since the type is json")
  }
}

/** The record of a new secret. `now`: RFC 3339. */
export const newSecret = (
  place: Pick<Secret, "id" | "organisationId" | "spaceId" | "name" | "type" | "customerId" | "environment">,
  now: string
): Secret => ({ ...place, current: 1, createdAt: now, updatedAt: now, deletedAt: null, version: 1 })

/** The record after its value was replaced. `now`: RFC 3339. */
export const overwrittenSecret = (before: Secret, type: Secret["type"], now: string): Secret => ({
  ...before,
  type,
  current: before.current + 1,
  updatedAt: now,
  version: before.version + 1
})

/** The record of a deleted secret. `now`: RFC 3339. */
export const deletedSecret = (before: Secret, now: string): Secret => ({
  ...before,
  deletedAt: now,
  updatedAt: now,
  version: before.version + 1
})
