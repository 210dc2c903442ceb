/** A programmatic credential: what it may do, for whom, from where, until when. Specification: API key fields and rules. */
import { Schema } from "effect"
import { Forbidden, invalid, type ValidationFailed } from "./Failure.js"
import type { ApiKeyId, CustomerId, OrganisationId, SpaceId } from "./Ids.js"
import { allowedIps } from "./Limits.js"
import {
  beyond,
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

/** The stored key. Times are RFC 3339. The secret itself is nowhere: `hash` is an HMAC of it under the server's pepper. */
export interface ApiKey {
  readonly id: ApiKeyId
  readonly organisationId: OrganisationId
  readonly spaceId: SpaceId
  readonly name: string
  readonly hash: string
  /** The hash before a rotation, good until `beforeUntil`. */
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

export const KeyExpiry = Schema.Union(
  Schema.Literal("30d", "90d", "1y", "never"),
  Schema.String.pipe(Schema.pattern(/^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2}))?$/))
).annotations({ description: "30d, 90d (default), 1y, never, or a date" })

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
    description: "the workspace that the key is for; absent: the calling key's own"
  })
}).annotations({ identifier: "CreateApiKey" })
export type CreateApiKey = typeof CreateApiKey.Type

/** What may change of a key: never its mode, and never to more than the editor holds. */
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

const day = 86_400_000

/** When a key made at `now` (Unix milliseconds) ends; `null` for never. */
export const expiryOf = (choice: string, now: number): number | null | ValidationFailed => {
  switch (choice) {
    case "30d":
      return now + 30 * day
    case "90d":
      return now + 90 * day
    case "1y":
      return now + 365 * day
    case "never":
      return null
    default: {
      const at = timeWithin(choice)
      if (at === undefined) return invalid("expires", "INVALID_DATE", "is not a date of the form YYYY-MM-DD")
      return at > now ? at : invalid("expires", "OUT_OF_RANGE", "lies in the past")
    }
  }
}

/** The permissions that a request for a key asks for. */
export const askedPermissions = (
  preset: Preset,
  matrix: PermissionMatrix | undefined
): PermissionSet | ValidationFailed => {
  if (preset !== "custom") {
    return matrix === undefined
      ? presetPermissions(preset)
      : invalid("permissions", "NOT_ALLOWED", `can only be given with the preset custom; ${preset} has its own`)
  }
  const set = toSet(matrix ?? {})
  return set.size > 0
    ? set
    : invalid("permissions", "REQUIRED", "must grant at least one permission with the preset custom")
}

/** Nobody grants more than they hold: neither permissions nor customers. */
export const grantable = (
  asked: { readonly permissions: PermissionSet; readonly customers: ReadonlyArray<string> | "all" },
  held: { readonly permissions: PermissionSet; readonly customers: ReadonlySet<string> | "all" }
): Forbidden | undefined => {
  const [missing] = beyond(asked.permissions, held.permissions)
  if (missing !== undefined) {
    return new Forbidden({
      code: "FORBIDDEN",
      needs: missing,
      path: "permissions",
      message: `a key cannot grant ${missing}, which it does not hold itself`
    })
  }
  if (held.customers === "all") return undefined
  const mine = held.customers
  const outside = asked.customers === "all" ? "all customers" : asked.customers.find((id) => !mine.has(id))
  return outside === undefined
    ? undefined
    : new Forbidden({
        code: "CUSTOMER_NOT_REACHABLE",
        path: "customers",
        message: `a key cannot grant ${outside}, which it does not reach itself`
      })
}

/** What bounds a key: as it is asked for, or as the caller's own key holds it. */
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

/** Whether each address of a range lies in one of the ranges. */
type Covers = (range: string, ranges: ReadonlyArray<string>) => boolean

const wider = (attribute: string, message: string) =>
  new Forbidden({ code: "FORBIDDEN", needs: "WIDER_THAN_CALLER", path: attribute, message: `${attribute} ${message}` })

/**
 * The first attribute in which a key would be wider than the key that makes, changes, rotates or reveals it;
 * `undefined` when it is wider in none.
 */
export const excessOf = (asked: KeyBounds, held: KeyBounds, covers: Covers): Forbidden | undefined => {
  const granted = grantable(
    { permissions: asked.permissions, customers: asked.customers === "all" ? "all" : [...asked.customers] },
    held
  )
  if (granted !== undefined) return granted
  if (held.mode === "test" && asked.mode === "live")
    return wider("mode", "cannot be live: the calling key is a Test key")
  if (held.hmac && !asked.hmac) return wider("hmac", "must be enabled, as it is for the calling key")
  if (held.allowedIps.length > 0) {
    if (asked.allowedIps.length === 0)
      return wider("allowedIps", "must lie within the ranges of the calling key, which is bound to some")
    const outside = asked.allowedIps.find((range) => !covers(range, held.allowedIps))
    if (outside !== undefined) return wider("allowedIps", `has ${outside}, which the calling key may not be used from`)
  }
  if (held.rateLimit !== null && (asked.rateLimit === null || asked.rateLimit > held.rateLimit))
    return wider("rateLimitPerMinute", `must be at most ${held.rateLimit}, the calling key's own`)
  if (held.expiresAt !== null && (asked.expiresAt === null || Date.parse(asked.expiresAt) > Date.parse(held.expiresAt)))
    return wider("expires", `must be no later than ${held.expiresAt}, when the calling key expires`)
  const scope = scopeExcess(asked.resourceScope, held.resourceScope)
  if (scope === undefined) return undefined
  return scope.id === null
    ? wider("resourceScope", `must be limited to a ${scope.type} that the calling key reaches`)
    : wider("resourceScope", `names a ${scope.type} that the calling key does not reach`)
}

export type KeyStatus = "active" | "revoked" | "expired"

export const keyStatus = (key: Pick<ApiKey, "revokedAt" | "expiresAt">, now: number): KeyStatus =>
  key.revokedAt !== null ? "revoked" : key.expiresAt !== null && Date.parse(key.expiresAt) <= now ? "expired" : "active"

export const keyPrefix = (mode: KeyMode): string => `svk_${mode}_`

/** A key as listings show it: never its secret. */
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
