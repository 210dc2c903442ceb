/** Records of API keys: permissions, customers, addresses and expiry. Specification: API key fields and rules. */
import { Schema } from "effect"
import { invalid, type ValidationFailed } from "../Failure.js"
import type { ApiKeyId, CustomerId, OrganisationId, SpaceId } from "../Ids.js"
import { allowedIps } from "../Limits.js"
import { PermissionMatrix, type PermissionSet, Preset, presetPermissions, toMatrix, toSet } from "./Permission.js"
import { ResourceScope } from "./ResourceScope.js"
import { Counter } from "../Scalars.js"
import { parseTimeOrDate, TimeOrDate } from "../Time.js"

/** Each request with a `test` key must say that it is one, in a header. */
export const KeyMode = Schema.Literal("test", "live")
export type KeyMode = typeof KeyMode.Type

/** The stored key. Times are RFC 3339. The secret is not stored: `hash` is its HMAC under the server's pepper. */
export interface ApiKey {
  readonly id: ApiKeyId
  readonly organisationId: OrganisationId
  readonly spaceId: SpaceId
  readonly name: string
  readonly hash: string
  /** The hash before the last rotation, valid until `beforeUntil`. */
  readonly hashBefore: string | null
  readonly beforeUntil: string | null
  readonly prefix: string
  readonly last4: string
  readonly mode: KeyMode
  readonly preset: Preset
  readonly permissions: PermissionMatrix
  readonly customersMode: "all" | "subset"
  readonly customerIds: ReadonlyArray<CustomerId>
  readonly hmacSecret: Uint8Array | null
  readonly resourceScope: ResourceScope
  readonly allowedIps: ReadonlyArray<string>
  readonly rateLimit: number | null
  readonly expiresAt: string | null
  readonly revokedAt: string | null
  readonly lastUsedAt: string | null
  readonly rotatedAt: string | null
  readonly createdBy: string
  readonly createdAt: string
  readonly updatedAt: string
  readonly version: number
}

/** When a new key expires. */
export const KeyExpiry = Schema.Union(Schema.Literal("30d", "90d", "1y", "never"), TimeOrDate).annotations({
  description: "30d, 90d (default), 1y, never, or a time or date"
})

/** The body that creates a key. */
export const CreateApiKey = Schema.Struct({
  name: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(200)),
  mode: Schema.optional(KeyMode),
  preset: Schema.optional(Preset),
  permissions: Schema.optional(PermissionMatrix),
  customers: Schema.optional(
    Schema.Struct({
      mode: Schema.Literal("all", "subset"),
      ids: Schema.optional(Schema.Array(Schema.String).pipe(Schema.maxItems(1_000)))
    })
  ),
  hmac: Schema.optional(Schema.Struct({ enabled: Schema.Boolean })),
  resourceScope: Schema.optional(ResourceScope),
  allowedIps: Schema.optional(Schema.Array(Schema.String).pipe(Schema.maxItems(allowedIps))),
  rateLimitPerMinute: Schema.optional(Schema.NullOr(Schema.Int.pipe(Schema.between(1, 1_000_000)))),
  expires: Schema.optional(KeyExpiry),
  spaceId: Schema.optional(Schema.String).annotations({
    description: "the workspace of the key; absent: that of the calling key"
  })
}).annotations({ identifier: "CreateApiKey" })
export type CreateApiKey = typeof CreateApiKey.Type

/** The body that changes a key. Its mode cannot change. */
export const UpdateApiKey = Schema.Struct({
  name: Schema.optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(200))),
  permissions: Schema.optional(PermissionMatrix),
  customers: Schema.optional(
    Schema.Struct({
      mode: Schema.Literal("all", "subset"),
      ids: Schema.optional(Schema.Array(Schema.String).pipe(Schema.maxItems(1_000)))
    })
  ),
  allowedIps: Schema.optional(Schema.Array(Schema.String).pipe(Schema.maxItems(allowedIps))),
  rateLimitPerMinute: Schema.optional(Schema.NullOr(Schema.Int.pipe(Schema.between(1, 1_000_000)))),
  version: Schema.optional(Counter)
}).annotations({ identifier: "UpdateApiKey" })
export type UpdateApiKey = typeof UpdateApiKey.Type

const dayMillis = 86_400_000

/** The expiry of a key created at `now`, both in Unix milliseconds; `null`: never. */
export const expiryOf = (choice: string, now: number): number | null | ValidationFailed => {
  switch (choice) {
    case "30d":
      return now + 30 * dayMillis
    case "90d":
      return now + 90 * dayMillis
    case "1y":
      return now + 365 * dayMillis
    case "never":
      return null
    default: {
      const at = parseTimeOrDate(choice)
      if (at === undefined)
        return invalid("expires", "INVALID_DATE", "must be a date or a time, as in 2026-11-21 or 2026-11-21T07:10:41Z")
      return at > now ? at : invalid("expires", "OUT_OF_RANGE", "is in the past: send a later date")
    }
  }
}

/** The permissions of a key that is requested with this preset and matrix. */
export const requestedPermissions = (
  preset: Preset,
  matrix: PermissionMatrix | undefined
): PermissionSet | ValidationFailed => {
  if (preset !== "custom") {
    return matrix === undefined
      ? presetPermissions(preset)
      : invalid("permissions", "NOT_ALLOWED", `can only be sent with the preset custom; ${preset} has its own`)
  }
  const set = toSet(matrix ?? {})
  return set.size > 0
    ? set
    : invalid("permissions", "REQUIRED", "must grant at least one permission with the preset custom")
}

export type KeyStatus = "active" | "revoked" | "expired"

/** `now`: Unix milliseconds. */
export const keyStatus = (key: Pick<ApiKey, "revokedAt" | "expiresAt">, now: number): KeyStatus =>
  key.revokedAt !== null ? "revoked" : key.expiresAt !== null && Date.parse(key.expiresAt) <= now ? "expired" : "active"

/** The beginning of every key of the mode. */
export const keyPrefix = (mode: KeyMode): string => `svk_${mode}_`

/** A key as the API shows it, without its secret. */
export const keyView = (key: ApiKey, now: number) => ({
  id: key.id,
  name: key.name,
  prefix: key.prefix,
  last4: key.last4,
  key: `${key.prefix}…${key.last4}`,
  mode: key.mode,
  preset: key.preset,
  permissions: toMatrix(toSet(key.permissions)),
  customers: { mode: key.customersMode, ids: key.customerIds },
  hmac: { enabled: key.hmacSecret !== null },
  resourceScope: key.resourceScope,
  allowedIps: key.allowedIps,
  rateLimitPerMinute: key.rateLimit,
  expiresAt: key.expiresAt,
  status: keyStatus(key, now),
  lastUsedAt: key.lastUsedAt,
  rotatedAt: key.rotatedAt,
  createdBy: key.createdBy,
  createdAt: key.createdAt,
  updatedAt: key.updatedAt,
  version: key.version
})
