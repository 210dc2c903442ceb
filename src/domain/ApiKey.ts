/** API keys: permissions, customers, addresses and expiry, and the rule that no key makes a wider one. Specification: API key fields and rules. */
import { Schema } from "effect"
import { Forbidden, invalid, type ValidationFailed } from "./Failure.js"
import type { ApiKeyId, CustomerId, OrganisationId, SpaceId } from "./Ids.js"
import { allowedIps } from "./Limits.js"
import {
  missingPermissions,
  PermissionMatrix,
  type PermissionSet,
  Preset,
  presetPermissions,
  toMatrix,
  toSet
} from "./Permission.js"
import { ResourceScope, scopeExcess } from "./ResourceScope.js"
import { Counter, timeWithin } from "./Scalars.js"

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
export const KeyExpiry = Schema.Union(
  Schema.Literal("30d", "90d", "1y", "never"),
  Schema.String.pipe(Schema.pattern(/^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2}))?$/))
).annotations({ description: "30d, 90d (default), 1y, never, or a date" })

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
      const at = timeWithin(choice)
      if (at === undefined) return invalid("expires", "INVALID_DATE", "is not a date of the form YYYY-MM-DD")
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

/** The refusal if a request grants permissions or customers that the caller does not have. */
export const grantRefusal = (
  requested: { readonly permissions: PermissionSet; readonly customers: ReadonlyArray<string> | "all" },
  own: { readonly permissions: PermissionSet; readonly customers: ReadonlySet<string> | "all" }
): Forbidden | undefined => {
  const [missing] = missingPermissions(requested.permissions, own.permissions)
  if (missing !== undefined) {
    return new Forbidden({
      code: "FORBIDDEN",
      needs: missing,
      path: "permissions",
      message: `a key cannot grant ${missing}, which it does not hold itself`
    })
  }
  if (own.customers === "all") return undefined
  const reachable = own.customers
  const outside = requested.customers === "all" ? "all customers" : requested.customers.find((id) => !reachable.has(id))
  return outside === undefined
    ? undefined
    : new Forbidden({
        code: "CUSTOMER_NOT_REACHABLE",
        path: "customers",
        message: `a key cannot grant ${outside}, which it does not reach itself`
      })
}

/** The bounds of a key that is requested, or of the calling key. */
export interface KeyBounds {
  readonly mode: KeyMode
  readonly permissions: PermissionSet
  readonly customers: ReadonlySet<string> | "all"
  readonly hmac: boolean
  readonly resourceScope: ResourceScope
  /** Empty: from anywhere. */
  readonly allowedIps: ReadonlyArray<string>
  /** Calls per minute; `null`: the plan's. */
  readonly rateLimit: number | null
  /** RFC 3339; `null`: never. */
  readonly expiresAt: string | null
}

/** The bounds of a stored key. `hmac`: whether its callers sign their identity. */
export const keyBounds = (key: Omit<ApiKey, "hmacSecret">, hmac: boolean): KeyBounds => ({
  mode: key.mode,
  permissions: toSet(key.permissions),
  customers: key.customersMode === "all" ? "all" : new Set<string>(key.customerIds),
  hmac,
  resourceScope: key.resourceScope,
  allowedIps: key.allowedIps,
  rateLimit: key.rateLimit,
  expiresAt: key.expiresAt
})

/** Whether every address of a range is in one of the ranges. */
type Covers = (range: string, ranges: ReadonlyArray<string>) => boolean

const widerThanCaller = (attribute: string, message: string) =>
  new Forbidden({ code: "FORBIDDEN", needs: "WIDER_THAN_CALLER", path: attribute, message: `${attribute} ${message}` })

/**
 * The refusal for the first attribute in which a key would be wider than the key that creates, changes, rotates or
 * reveals it; `undefined` if there is none.
 */
export const keyExcess = (requested: KeyBounds, own: KeyBounds, covers: Covers): Forbidden | undefined => {
  const refusal = grantRefusal(
    { permissions: requested.permissions, customers: requested.customers === "all" ? "all" : [...requested.customers] },
    own
  )
  if (refusal !== undefined) return refusal
  if (own.mode === "test" && requested.mode === "live")
    return widerThanCaller("mode", "cannot be live: the calling key is a Test key")
  if (own.hmac && !requested.hmac) return widerThanCaller("hmac", "must be enabled, as it is for the calling key")
  if (own.allowedIps.length > 0) {
    if (requested.allowedIps.length === 0)
      return widerThanCaller("allowedIps", "must be within the ranges to which the calling key is restricted")
    const outside = requested.allowedIps.find((range) => !covers(range, own.allowedIps))
    if (outside !== undefined)
      return widerThanCaller("allowedIps", `has ${outside}, which the calling key may not be used from`)
  }
  if (own.rateLimit !== null && (requested.rateLimit === null || requested.rateLimit > own.rateLimit))
    return widerThanCaller("rateLimitPerMinute", `must be at most ${own.rateLimit}, the calling key's own`)
  if (
    own.expiresAt !== null &&
    (requested.expiresAt === null || Date.parse(requested.expiresAt) > Date.parse(own.expiresAt))
  )
    return widerThanCaller("expires", `must be no later than ${own.expiresAt}, when the calling key expires`)
  const scope = scopeExcess(requested.resourceScope, own.resourceScope)
  if (scope === undefined) return undefined
  return scope.id === null
    ? widerThanCaller("resourceScope", `must be limited to a ${scope.type} that the calling key reaches`)
    : widerThanCaller("resourceScope", `names a ${scope.type} that the calling key does not reach`)
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
