/** The bounds of an API key, and the rule that no key creates, changes, rotates or reveals a wider one. Specification: API key fields and rules. */
import { type CallerKind, nounOf, nounWithArticle } from "./CallerKind.js"
import { Forbidden } from "../Failure.js"
import { missingPermissions, type PermissionSet, toSet } from "./Permission.js"
import { type ResourceScope, scopeExcess } from "./ResourceScope.js"
import type { ApiKey, KeyMode } from "./ApiKey.js"

/** Grants permissions and customers of its own. */
interface Granter {
  readonly kind: CallerKind
  readonly permissions: PermissionSet
  readonly customers: ReadonlySet<string> | "all"
}

/** The refusal if a request grants permissions or customers that the caller does not have. */
export const grantRefusal = (
  requested: { readonly permissions: PermissionSet; readonly customers: ReadonlyArray<string> | "all" },
  own: Granter
): Forbidden | undefined => {
  const [missing] = missingPermissions(requested.permissions, own.permissions)
  if (missing !== undefined) {
    return new Forbidden({
      code: "FORBIDDEN",
      needs: missing,
      path: "permissions",
      message: `${nounWithArticle(own)} cannot grant ${missing}, which it does not hold itself`
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
        message: `${nounWithArticle(own)} cannot grant ${outside}, which it does not reach itself`
      })
}

/** The refusal if a person or a role that is to be changed has permissions or customers that the caller does not have. */
export const changeRefusal = (
  noun: "person" | "role",
  held: Parameters<typeof grantRefusal>[0],
  own: Granter
): Forbidden | undefined => {
  const excess = grantRefusal(held, own)
  if (excess === undefined) return undefined
  const { code, needs } = excess
  return new Forbidden({
    code,
    ...(needs === undefined ? {} : { needs }),
    message: `this ${noun} has ${needs ?? "customers"}, which the caller does not have: only who has as much may change the ${noun}`
  })
}

/** The bounds of a key that is requested, or at most those of keys that a caller creates. */
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
 * The refusal for the first attribute in which a key would be wider than the caller that creates, changes, rotates or
 * reveals it; `undefined` if there is none.
 */
export const keyExcess = (
  requested: KeyBounds,
  own: KeyBounds,
  kind: CallerKind,
  covers: Covers
): Forbidden | undefined => {
  const caller = `the calling ${nounOf({ kind })}`
  const refusal = grantRefusal(
    { permissions: requested.permissions, customers: requested.customers === "all" ? "all" : [...requested.customers] },
    { kind, permissions: own.permissions, customers: own.customers }
  )
  if (refusal !== undefined) return refusal
  if (own.mode === "test" && requested.mode === "live")
    return widerThanCaller("mode", `cannot be live: ${caller} is a Test ${nounOf({ kind })}`)
  if (own.hmac && !requested.hmac) return widerThanCaller("hmac", `must be enabled, as it is for ${caller}`)
  if (own.allowedIps.length > 0) {
    if (requested.allowedIps.length === 0)
      return widerThanCaller("allowedIps", `must be within the ranges to which ${caller} is restricted`)
    const outside = requested.allowedIps.find((range) => !covers(range, own.allowedIps))
    if (outside !== undefined)
      return widerThanCaller("allowedIps", `has ${outside}, which ${caller} may not be used from`)
  }
  if (own.rateLimit !== null && (requested.rateLimit === null || requested.rateLimit > own.rateLimit))
    return widerThanCaller("rateLimitPerMinute", `must be at most ${own.rateLimit}, ${caller}'s own`)
  if (
    own.expiresAt !== null &&
    (requested.expiresAt === null || Date.parse(requested.expiresAt) > Date.parse(own.expiresAt))
  )
    return widerThanCaller("expires", `must be no later than ${own.expiresAt}, when ${caller} expires`)
  const scope = scopeExcess(requested.resourceScope, own.resourceScope)
  if (scope === undefined) return undefined
  return scope.id === null
    ? widerThanCaller("resourceScope", `must be limited to a ${scope.type} that ${caller} reaches`)
    : widerThanCaller("resourceScope", `names a ${scope.type} that ${caller} does not reach`)
}
