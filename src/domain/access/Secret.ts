/** Secrets that the organisation stores: records, versions and their values. Contract: secret record. */
import { Either, Schema } from "effect"
import { invalid, type ValidationFailed } from "../Failure.js"
import { CustomerId, OrganisationId, SecretId, SpaceId } from "../Ids.js"
import { Json, findUnstorable, unstorableMessage } from "../Json.js"
import { secretLength } from "../Limits.js"
import { derivedValue, generatedValue, hidden, nextVersion, owner, recordOf } from "../Record.js"
import { AnsweredTime } from "../Time.js"

/** The form of a secret's name: UPPER_SNAKE_CASE. */
export const secretNamePattern = /^[A-Z][A-Z0-9_]{0,63}$/

/** Whether the value is a string, or any JSON. */
export const SecretType = Schema.Literal("text", "json")

/** A secret: its record and view. Values are sealed in its versions. Times are RFC 3339. */
export const Secret = recordOf("Secret", {
  id: generatedValue(SecretId, Schema.String),
  organisationId: owner(OrganisationId),
  spaceId: owner(SpaceId),
  name: generatedValue(Schema.String),
  type: generatedValue(SecretType),
  customerId: hidden(Schema.NullOr(CustomerId)),
  environment: hidden(Schema.NullOr(Schema.String)),
  scope: derivedValue(
    Schema.Struct({ customerId: Schema.NullOr(Schema.String), environment: Schema.NullOr(Schema.String) })
  ),
  /** The number of the current version. */
  current: hidden(Schema.Number),
  createdAt: generatedValue(AnsweredTime),
  updatedAt: generatedValue(AnsweredTime),
  deletedAt: hidden(Schema.NullOr(AnsweredTime)),
  version: generatedValue(Schema.Number)
})
/** The stored secret. */
export type Secret = typeof Secret.stored.Type

/** One sealed value of a secret. */
export const SecretVersion = Schema.Struct({
  organisationId: OrganisationId,
  secretId: SecretId,
  number: Schema.Number,
  sealed: Schema.Uint8ArrayFromSelf,
  retiredAt: Schema.NullOr(AnsweredTime)
})
export type SecretVersion = typeof SecretVersion.Type

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
  type: Schema.optional(SecretType),
  value: Json,
  customerId: Schema.optional(Schema.NullOr(Schema.String)),
  environment: Schema.optional(Schema.NullOr(Schema.String.pipe(Schema.maxLength(63))))
}).annotations({ identifier: "CreateSecret" })
export type CreateSecret = typeof CreateSecret.Type

/** A secret as the API shows it, without its value. */
export const secretView = (secret: Secret) =>
  Secret.show(secret, { scope: { customerId: secret.customerId, environment: secret.environment } })

/** The text to seal. JSON may be sent as a value or as text; other text is refused. */
export const secretText = (type: Secret["type"], value: Json): Either.Either<string, ValidationFailed> => {
  const text = typeof value === "string" ? value : type === "json" ? JSON.stringify(value) : undefined
  const mistake = textMistake(type, text)
  return text === undefined || mistake !== undefined
    ? Either.left(mistake ?? invalid("value", "INVALID_TYPE", "must be a string; send other JSON with the type json"))
    : Either.right(text)
}

const textMistake = (type: Secret["type"], text: string | undefined): ValidationFailed | undefined => {
  if (text === undefined) return undefined
  if (text === "") return invalid("value", "REQUIRED", "must not be empty")
  if (text.length > secretLength)
    return invalid("value", "OUT_OF_RANGE", `must have at most ${secretLength} characters`)
  return type === "json" ? jsonMistake(text) : undefined
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
): Secret => Secret.create({}, { ...place, current: 1 }, now)

/** The record after its value was replaced. `now`: RFC 3339. */
export const overwrittenSecret = (before: Secret, type: Secret["type"], now: string): Secret => ({
  ...before,
  type,
  current: before.current + 1,
  ...nextVersion(before, now)
})

/** The record of a deleted secret. `now`: RFC 3339. */
export const deletedSecret = (before: Secret, now: string): Secret => ({
  ...before,
  deletedAt: now,
  ...nextVersion(before, now)
})
