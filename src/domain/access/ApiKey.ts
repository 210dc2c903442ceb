/** Records of API keys: permissions, customers, addresses and expiry. Specification: API key fields and rules. */
import { Either, Schema } from "effect"
import { invalid, type ValidationFailed } from "../Failure.js"
import { ApiKeyId, CustomerId, OrganisationId, SpaceId } from "../Ids.js"
import { allowedIps } from "../Limits.js"
import {
  PermissionMatrix,
  type PermissionSet,
  Preset,
  presetPermissions,
  StoredMatrix,
  toMatrix,
  toSet
} from "./Permission.js"
import { ResourceScope } from "./ResourceScope.js"
import { Counter } from "../Scalars.js"
import { derivedValue, generatedValue, hidden, owner, recordOf } from "../Record.js"
import { AnsweredTime, parseTimeOrDate, TimeOrDate } from "../Time.js"

/** Each request with a `test` key must say that it is one, in a header. */
export const KeyMode = Schema.Literal("test", "live")
export type KeyMode = typeof KeyMode.Type

/** A key that is `revoked` or `expired` authenticates no request. */
const KeyStatus = Schema.Literal("active", "revoked", "expired")
export type KeyStatus = typeof KeyStatus.Type

/** Whether a key reaches all customers, or those that it names. */
const CustomersMode = Schema.Literal("all", "subset")

/** A key: its record and view. Times are RFC 3339. The secret is not stored: `hash` is its HMAC under the server's pepper. */
export const ApiKey = recordOf("ApiKey", {
  id: generatedValue(ApiKeyId, Schema.String),
  organisationId: owner(OrganisationId),
  spaceId: owner(SpaceId),
  name: generatedValue(Schema.String),
  hash: hidden(Schema.String),
  /** The hash before the last rotation, valid until `beforeUntil`. */
  hashBefore: hidden(Schema.NullOr(Schema.String)),
  beforeUntil: hidden(Schema.NullOr(AnsweredTime)),
  prefix: generatedValue(Schema.String),
  last4: generatedValue(Schema.String),
  key: derivedValue(
    Schema.String.annotations({
      description: "prefix and last four characters; the whole key only in the answer that creates or rotates it"
    })
  ),
  mode: generatedValue(KeyMode),
  preset: generatedValue(Preset),
  permissions: generatedValue(StoredMatrix, PermissionMatrix),
  customers: derivedValue(Schema.Struct({ mode: CustomersMode, ids: Schema.Array(Schema.String) })),
  customersMode: hidden(CustomersMode),
  customerIds: hidden(Schema.Array(CustomerId)),
  hmac: derivedValue(Schema.Struct({ enabled: Schema.Boolean })),
  hmacSecret: hidden(Schema.NullOr(Schema.Uint8ArrayFromSelf)),
  resourceScope: generatedValue(ResourceScope),
  allowedIps: generatedValue(Schema.Array(Schema.String)),
  rateLimit: hidden(Schema.NullOr(Schema.Number)),
  rateLimitPerMinute: derivedValue(Schema.NullOr(Schema.Number)),
  expiresAt: generatedValue(Schema.NullOr(AnsweredTime)),
  status: derivedValue(KeyStatus),
  revokedAt: hidden(Schema.NullOr(AnsweredTime)),
  lastUsedAt: generatedValue(Schema.NullOr(AnsweredTime)),
  rotatedAt: generatedValue(Schema.NullOr(AnsweredTime)),
  /** Who was told the secret that it has. */
  rotatedBy: hidden(Schema.NullOr(Schema.String)),
  createdBy: generatedValue(Schema.String),
  createdAt: generatedValue(AnsweredTime),
  updatedAt: generatedValue(AnsweredTime),
  version: generatedValue(Schema.Number)
})
/** The stored key. */
export type ApiKey = typeof ApiKey.stored.Type

/** When a new key expires. */
export const KeyExpiry = Schema.Union(Schema.Literal("30d", "90d", "1y", "never"), TimeOrDate).annotations({
  description: "30d, 90d (default), 1y, never, or a time or date"
})

const members = {
  permissions: Schema.optional(PermissionMatrix),
  customers: Schema.optional(
    Schema.Struct({
      mode: CustomersMode,
      ids: Schema.optional(Schema.Array(Schema.String).pipe(Schema.maxItems(1_000)))
    })
  )
}
const bounds = {
  allowedIps: Schema.optional(Schema.Array(Schema.String).pipe(Schema.maxItems(allowedIps))),
  rateLimitPerMinute: Schema.optional(Schema.NullOr(Schema.Int.pipe(Schema.between(1, 1_000_000))))
}
const Name = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(200))

/** The body that creates a key. */
export const CreateApiKey = Schema.Struct({
  name: Name,
  mode: Schema.optional(KeyMode),
  preset: Schema.optional(Preset),
  ...members,
  hmac: Schema.optional(Schema.Struct({ enabled: Schema.Boolean })),
  resourceScope: Schema.optional(ResourceScope),
  ...bounds,
  expires: Schema.optional(KeyExpiry),
  spaceId: Schema.optional(Schema.String).annotations({
    description: "the workspace of the key; absent: that of the calling key"
  })
}).annotations({ identifier: "CreateApiKey" })
export type CreateApiKey = typeof CreateApiKey.Type

/** The body that changes a key. Its mode cannot change. */
export const UpdateApiKey = Schema.Struct({
  name: Schema.optional(Name),
  ...members,
  ...bounds,
  version: Schema.optional(Counter)
}).annotations({ identifier: "UpdateApiKey" })
export type UpdateApiKey = typeof UpdateApiKey.Type

const dayMillis = 86_400_000

/** The expiry of a key created at `now`, both in Unix milliseconds; `null`: never. */
export const expiryOf = (choice: string, now: number): Either.Either<number | null, ValidationFailed> => {
  switch (choice) {
    case "30d":
      return Either.right(now + 30 * dayMillis)
    case "90d":
      return Either.right(now + 90 * dayMillis)
    case "1y":
      return Either.right(now + 365 * dayMillis)
    case "never":
      return Either.right(null)
    default: {
      const at = parseTimeOrDate(choice)
      if (at === undefined)
        return Either.left(
          invalid("expires", "INVALID_DATE", "must be a date or a time, as in 2026-11-21 or 2026-11-21T07:10:41Z")
        )
      return at > now
        ? Either.right(at)
        : Either.left(invalid("expires", "OUT_OF_RANGE", "is in the past: send a later date"))
    }
  }
}

/** The permissions of a key that is requested with this preset and matrix. */
export const requestedPermissions = (
  preset: Preset,
  matrix: PermissionMatrix | undefined
): Either.Either<PermissionSet, ValidationFailed> => {
  if (preset !== "custom") {
    return matrix === undefined
      ? Either.right(presetPermissions(preset))
      : Either.left(
          invalid("permissions", "NOT_ALLOWED", `can only be sent with the preset custom; ${preset} has its own`)
        )
  }
  const set = toSet(matrix ?? {})
  return set.size > 0
    ? Either.right(set)
    : Either.left(invalid("permissions", "REQUIRED", "must grant at least one permission with the preset custom"))
}

/** `now`: Unix milliseconds. */
export const keyStatus = (key: Pick<ApiKey, "revokedAt" | "expiresAt">, now: number): KeyStatus =>
  key.revokedAt !== null ? "revoked" : key.expiresAt !== null && Date.parse(key.expiresAt) <= now ? "expired" : "active"

/** The beginning of every key of the mode. */
export const keyPrefix = (mode: KeyMode): string => `svk_${mode}_`

/** A key as the API shows it, without its secret. */
export const keyView = (key: ApiKey, now: number) =>
  ApiKey.show(
    { ...key, permissions: toMatrix(toSet(key.permissions)) },
    {
      key: `${key.prefix}…${key.last4}`,
      customers: { mode: key.customersMode, ids: key.customerIds },
      hmac: { enabled: key.hmacSecret !== null },
      rateLimitPerMinute: key.rateLimit,
      status: keyStatus(key, now)
    }
  )
