/** The authenticated caller: its key, permissions, customers and scope. All surfaces use this value. Specification: Authentication. */
import type { ApiKey } from "../../domain/ApiKey.js"
import type { AuditActor } from "../../domain/Audit.js"
import { Forbidden } from "../../domain/Failure.js"
import type { CustomerId, OrganisationId, RequestId, SpaceId } from "../../domain/Ids.js"
import { type Permission, type PermissionSet, toSet } from "../../domain/Permission.js"
import { type Plan, plans } from "../../domain/Plan.js"
import type { RunReach } from "../../domain/RunJournal.js"
import { type ScopeIds, scopeIds, type ScopeType } from "../../domain/ResourceScope.js"
import type { KnownKey } from "../ports/Keys.js"

/**
 * How an endpoint treats keys that reach only some customers. `customers`: its records belong to customers, and it shows
 * only those that the key reaches. `read`: it reads records that all customers share. `perRecord`: its records belong to a
 * customer or are shared, and a change is checked by its record. `change`: it changes shared records. `hidden`: it concerns
 * the organisation alone.
 */
export type Sharing = "customers" | "read" | "perRecord" | "change" | "hidden"

/** An authenticated caller. */
export interface Principal {
  readonly organisationId: OrganisationId
  readonly spaceId: SpaceId
  readonly organisation: KnownKey["organisation"]
  readonly key: ApiKey
  readonly permissions: PermissionSet
  readonly customers: "all" | ReadonlySet<CustomerId>
  /** The resources that the key is narrowed to. */
  readonly scope: ScopeIds
  readonly plan: Plan
  readonly requestId: RequestId
  readonly ip: string
  readonly userAgent: string | null
}

/** Facts derived from a key, cached as long as the key is in memory. */
const keyFacts = new WeakMap<ApiKey, Pick<Principal, "permissions" | "customers" | "scope">>()

const derivedFrom = (key: ApiKey): Pick<Principal, "permissions" | "customers" | "scope"> => {
  const cached = keyFacts.get(key)
  if (cached !== undefined) return cached
  const facts = {
    permissions: toSet(key.permissions),
    customers: key.customersMode === "all" ? ("all" as const) : new Set(key.customerIds),
    scope: scopeIds(key.resourceScope)
  }
  keyFacts.set(key, facts)
  return facts
}

export const principal = (
  knownKey: KnownKey,
  request: Pick<Principal, "requestId" | "ip" | "userAgent">
): Principal => ({
  organisationId: knownKey.organisation.id,
  spaceId: knownKey.key.spaceId,
  organisation: knownKey.organisation,
  key: knownKey.key,
  ...derivedFrom(knownKey.key),
  plan: plans[knownKey.organisation.plan],
  ...request
})

export const missingPermission = (caller: Principal, permission: Permission): Forbidden | undefined =>
  caller.permissions.has(permission)
    ? undefined
    : new Forbidden({ code: "FORBIDDEN", needs: permission, message: `this key lacks the permission ${permission}` })

/** Whether the key is limited to some customers' data by its preset. Permissions of a custom key apply unchanged. */
const isForCustomersOnly = ({ key }: Principal): boolean => key.customersMode !== "all" && key.preset !== "custom"

const notShared = () =>
  new Forbidden({
    code: "FORBIDDEN",
    needs: "SUBSET_KEY",
    message: "this key is for some customers' data: what all customers share is closed to it"
  })

/** The refusal if the endpoint is closed to keys of some customers. */
export const sharingRefusal = (caller: Principal, sharing: Sharing | undefined): Forbidden | undefined => {
  if (!isForCustomersOnly(caller)) return undefined
  return sharing === "customers" || sharing === "read" || sharing === "perRecord" ? undefined : notShared()
}

/** The refusal if a key of some customers may not change a record of `customer`; `null`: a shared record. */
export const recordRefusal = (
  caller: Principal,
  sharing: Sharing | undefined,
  customer: CustomerId | null
): Forbidden | undefined =>
  sharing === "perRecord" && customer === null && isForCustomersOnly(caller) ? notShared() : undefined

/** The refusal if the key is narrowed to other resources of this type. Connectors are named by their slugs. */
export const outOfScope = ({ scope }: Principal, type: ScopeType, id: string): Forbidden | undefined =>
  scope[type]?.has(id) === false
    ? new Forbidden({ code: "RESOURCE_OUT_OF_SCOPE", message: `this key does not reach that ${type}` })
    : undefined

/** The ids of a type that the key is narrowed to, for lists; `undefined`: it is not. */
export const scopedIds = ({ scope }: Principal, type: ScopeType): ReadonlyArray<string> | undefined => {
  const ids = scope[type]
  return ids === undefined ? undefined : [...ids]
}

/** The resources that runs of a key may use; `undefined`: all. */
export const runReach = ({ scope }: Principal): RunReach | undefined => {
  const { connection, connector, secret } = scope
  if (connection === undefined && connector === undefined && secret === undefined) return undefined
  return {
    ...(connector === undefined ? {} : { connectors: [...connector] }),
    ...(connection === undefined ? {} : { connections: [...connection] }),
    ...(secret === undefined ? {} : { secrets: [...secret] })
  }
}

/** The refusal if a narrowed key creates a resource of this type, or changes one that all of them depend on. */
export const narrowedKeyRefusal = ({ scope }: Principal, type: ScopeType, what: string): Forbidden | undefined =>
  scope[type] === undefined
    ? undefined
    : new Forbidden({
        code: "RESOURCE_OUT_OF_SCOPE",
        message: `this key is narrowed to particular ${type}s: ${what}`
      })

export const reaches = (caller: Principal, customer: CustomerId): boolean =>
  caller.customers === "all" || caller.customers.has(customer)

/** The actor for the audit trail: a key is a service account. Members are in canonical order, so that sealing is cheap. */
export const actorOf = (caller: Principal): AuditActor => ({
  id: caller.key.id,
  ip: caller.ip,
  name: caller.key.name,
  onBehalfOf: null,
  type: "service_account",
  userAgent: caller.userAgent
})
