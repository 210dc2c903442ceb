/** What making, changing, rotating and revoking do to an API key: pure decisions over its record. Contract: API keys. */
import { type ApiKey, type CreateApiKey, keyPrefix, keyStatus, type UpdateApiKey } from "./ApiKey.js"
import { InvalidState, invalid, type ValidationFailed } from "./Failure.js"
import type { ApiKeyId, OrganisationId, SpaceId } from "./Ids.js"
import { type PermissionSet, toMatrix, toSet } from "./Permission.js"
import type { ResourceScope } from "./ResourceScope.js"

/** The customers that a key reaches. */
export type KeyCustomers = Pick<ApiKey, "customersMode" | "customerIds">

/** Of a key's secret, which is shown once: what is stored. */
export interface StoredSecret {
  readonly hash: string
  readonly last4: string
}

/** What a new key is made of besides the request: all of it checked. Times are Unix milliseconds. */
export interface NewKey {
  readonly id: ApiKeyId
  readonly organisationId: OrganisationId
  readonly spaceId: SpaceId
  readonly createdBy: ApiKeyId
  readonly at: number
  readonly expiresAt: number | null
  readonly permissions: PermissionSet
  readonly customers: KeyCustomers
  readonly resourceScope: ResourceScope
  readonly secret: StoredSecret
  /** The sealed secret with which callers sign their identity. */
  readonly identitySecret: Uint8Array | null
}

export const newKey = (input: CreateApiKey, made: NewKey): ApiKey => {
  const mode = input.mode ?? "test"
  const at = new Date(made.at).toISOString()
  return {
    id: made.id,
    organisationId: made.organisationId,
    spaceId: made.spaceId,
    name: input.name,
    hash: made.secret.hash,
    hashBefore: null,
    beforeUntil: null,
    prefix: keyPrefix(mode),
    last4: made.secret.last4,
    mode,
    preset: input.preset ?? "viewer",
    permissions: toMatrix(made.permissions),
    ...made.customers,
    hmacSecret: made.identitySecret,
    resourceScope: made.resourceScope,
    allowedIps: input.allowedIps ?? [],
    rateLimit: input.rateLimitPerMinute ?? null,
    expiresAt: made.expiresAt === null ? null : new Date(made.expiresAt).toISOString(),
    revokedAt: null,
    lastUsedAt: null,
    rotatedAt: null,
    createdBy: made.createdBy,
    createdAt: at,
    updatedAt: at,
    version: 1
  }
}

const isSame = (a: PermissionSet, b: PermissionSet): boolean => a.size === b.size && [...a].every((one) => b.has(one))

/** `customers`: those that the change asks for, or the key's own. `at`: Unix milliseconds. */
export const changedKey = (
  key: ApiKey,
  input: UpdateApiKey,
  customers: KeyCustomers,
  at: number
): ApiKey | ValidationFailed => {
  const held = toSet(key.permissions)
  const permissions = input.permissions === undefined ? held : toSet(input.permissions)
  if (key.preset !== "custom" && !isSame(permissions, held))
    return invalid("permissions", "NOT_ALLOWED", "can only be changed of a key with the preset custom")
  if (permissions.size === 0) return invalid("permissions", "REQUIRED", "must grant at least one permission")
  return {
    ...key,
    ...customers,
    name: input.name ?? key.name,
    permissions: toMatrix(permissions),
    allowedIps: input.allowedIps ?? key.allowedIps,
    rateLimit: input.rateLimitPerMinute === undefined ? key.rateLimit : input.rateLimitPerMinute,
    updatedAt: new Date(at).toISOString(),
    version: key.version + 1
  }
}

/** The secret before it counts for `graceSeconds` more. */
export const rotatedKey = (key: ApiKey, secret: StoredSecret, graceSeconds: number, at: number): ApiKey => ({
  ...key,
  ...secret,
  hashBefore: graceSeconds > 0 ? key.hash : null,
  beforeUntil: graceSeconds > 0 ? new Date(at + graceSeconds * 1000).toISOString() : null,
  rotatedAt: new Date(at).toISOString(),
  updatedAt: new Date(at).toISOString(),
  version: key.version + 1
})

export const revokedKey = (key: ApiKey, at: number): ApiKey => ({
  ...key,
  revokedAt: new Date(at).toISOString(),
  updatedAt: new Date(at).toISOString(),
  version: key.version + 1
})

/** Why a key that was revoked or has expired is changed no more. */
export const statusRefusal = (key: ApiKey, at: number): InvalidState | undefined => {
  const status = keyStatus(key, at)
  return status === "active" ? undefined : new InvalidState({ state: status, message: `the key is ${status}` })
}
