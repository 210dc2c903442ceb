/** Creates, changes, rotates and revokes the record of an API key; pure. Contract: API keys. */
import { Either } from "effect"
import { ApiKey, type CreateApiKey, keyPrefix, keyStatus, type UpdateApiKey } from "./ApiKey.js"
import { InvalidState, invalid, type ValidationFailed } from "../Failure.js"
import type { ApiKeyId, OrganisationId, SpaceId } from "../Ids.js"
import { type PermissionSet, toMatrix, toSet } from "./Permission.js"
import { nextVersion } from "../Record.js"
import type { ResourceScope } from "./ResourceScope.js"

/** The customers that a key reaches. */
export type KeyCustomers = Pick<ApiKey, "customersMode" | "customerIds">

/** What is stored of a key's secret, which is shown once. */
export interface StoredSecret {
  readonly hash: string
  readonly last4: string
}

/** What a new key has besides the members of the request, all of it checked. Times are Unix milliseconds. */
export interface NewKey {
  readonly id: ApiKeyId
  readonly organisationId: OrganisationId
  readonly spaceId: SpaceId
  readonly createdBy: string
  readonly at: number
  readonly expiresAt: number | null
  readonly permissions: PermissionSet
  readonly customers: KeyCustomers
  readonly resourceScope: ResourceScope
  readonly secret: StoredSecret
  /** The sealed secret with which callers sign their identity. */
  readonly identitySecret: Uint8Array | null
}

/** The record of a new key. */
export const newKey = (input: CreateApiKey, key: NewKey): ApiKey => {
  const mode = input.mode ?? "test"
  const { at, customers, expiresAt, identitySecret, permissions, secret, ...written } = key
  return ApiKey.create(
    {},
    {
      ...written,
      ...secret,
      ...customers,
      name: input.name,
      prefix: keyPrefix(mode),
      mode,
      preset: input.preset ?? "viewer",
      permissions: toMatrix(permissions),
      hmacSecret: identitySecret,
      allowedIps: input.allowedIps ?? [],
      rateLimit: input.rateLimitPerMinute ?? null,
      expiresAt: expiresAt === null ? null : new Date(expiresAt).toISOString()
    },
    new Date(at).toISOString()
  )
}

const isSame = (a: PermissionSet, b: PermissionSet): boolean => a.size === b.size && [...a].every((one) => b.has(one))

/** The record after a change. `customers`: those of the request, or else the key's own. `at`: Unix milliseconds. */
export const changedKey = (
  key: ApiKey,
  input: UpdateApiKey,
  customers: KeyCustomers,
  at: number
): Either.Either<ApiKey, ValidationFailed> => {
  const current = toSet(key.permissions)
  const permissions = input.permissions === undefined ? current : toSet(input.permissions)
  if (key.preset !== "custom" && !isSame(permissions, current))
    return Either.left(invalid("permissions", "NOT_ALLOWED", "can only be changed if the key's preset is custom"))
  if (permissions.size === 0)
    return Either.left(invalid("permissions", "REQUIRED", "must grant at least one permission"))
  return Either.right({
    ...key,
    ...customers,
    name: input.name ?? key.name,
    permissions: toMatrix(permissions),
    allowedIps: input.allowedIps ?? key.allowedIps,
    rateLimit: input.rateLimitPerMinute === undefined ? key.rateLimit : input.rateLimitPerMinute,
    ...nextVersion(key, new Date(at).toISOString())
  })
}

/** The record with a new secret, which `by` is told; the old one stays valid for `graceSeconds`. `at`: Unix milliseconds. */
export const rotatedKey = (
  key: ApiKey,
  secret: StoredSecret,
  graceSeconds: number,
  by: string,
  at: number
): ApiKey => ({
  ...key,
  ...secret,
  hashBefore: graceSeconds > 0 ? key.hash : null,
  beforeUntil: graceSeconds > 0 ? new Date(at + graceSeconds * 1000).toISOString() : null,
  rotatedAt: new Date(at).toISOString(),
  rotatedBy: by,
  ...nextVersion(key, new Date(at).toISOString())
})

/** The record of a revoked key. `at`: Unix milliseconds. */
export const revokedKey = (key: ApiKey, at: number): ApiKey => ({
  ...key,
  revokedAt: new Date(at).toISOString(),
  ...nextVersion(key, new Date(at).toISOString())
})

/** The refusal to change a key that is revoked or expired. */
export const statusRefusal = (key: ApiKey, at: number): InvalidState | undefined => {
  const status = keyStatus(key, at)
  return status === "active" ? undefined : new InvalidState({ state: status, message: `the key is ${status}` })
}
