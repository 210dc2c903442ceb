/** Who asks: the key, what it may do, and for whom. Every way in leads to this one value. Specification: Authentication. */
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
 * What of an endpoint concerns all customers, for keys that reach only some. `customers`: its records are customers', and
 * it keeps to those that the key reaches. `read`: it reads what all share. `perRecord`: its records are a customer's or
 * shared, and a change is judged by the record that it turns out to be of. `change`: it changes what all share. `hidden`:
 * it reads or changes what concerns the organisation alone.
 */
export type Sharing = "customers" | "read" | "perRecord" | "change" | "hidden"

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

/** What follows from a key alone, worked out once for as long as the key is kept in memory. */
const keyFacts = new WeakMap<ApiKey, Pick<Principal, "permissions" | "customers" | "scope">>()

const derivedFrom = (key: ApiKey): Pick<Principal, "permissions" | "customers" | "scope"> => {
  const known = keyFacts.get(key)
  if (known !== undefined) return known
  const facts = {
    permissions: toSet(key.permissions),
    customers: key.customersMode === "all" ? ("all" as const) : new Set(key.customerIds),
    scope: scopeIds(key.resourceScope)
  }
  keyFacts.set(key, facts)
  return facts
}

export const principal = (known: KnownKey, request: Pick<Principal, "requestId" | "ip" | "userAgent">): Principal => ({
  organisationId: known.organisation.id,
  spaceId: known.key.spaceId,
  organisation: known.organisation,
  key: known.key,
  ...derivedFrom(known.key),
  plan: plans[known.organisation.plan],
  ...request
})

export const missingPermission = (caller: Principal, permission: Permission): Forbidden | undefined =>
  caller.permissions.has(permission)
    ? undefined
    : new Forbidden({ code: "FORBIDDEN", needs: permission, message: `this key lacks the permission ${permission}` })

/** Whether the key is for some customers' data only, and has a preset: a custom key's permissions count as they stand. */
const isForCustomersOnly = ({ key }: Principal): boolean => key.customersMode !== "all" && key.preset !== "custom"

const notShared = () =>
  new Forbidden({
    code: "FORBIDDEN",
    needs: "SUBSET_KEY",
    message: "this key is for some customers' data: what all customers share is closed to it"
  })

/** Why an endpoint is closed to the key, by what it shares between customers. */
export const sharingRefusal = (caller: Principal, sharing: Sharing | undefined): Forbidden | undefined => {
  if (!isForCustomersOnly(caller)) return undefined
  return sharing === "customers" || sharing === "read" || sharing === "perRecord" ? undefined : notShared()
}

/** Why a change is closed to the key, by the customer whose record it is of; `null`: all customers'. */
export const recordRefusal = (
  caller: Principal,
  sharing: Sharing | undefined,
  customer: CustomerId | null
): Forbidden | undefined =>
  sharing === "perRecord" && customer === null && isForCustomersOnly(caller) ? notShared() : undefined

/** A key narrowed to particular resources of a type reaches no others of that type. Connectors go by their slugs. */
export const outOfScope = ({ scope }: Principal, type: ScopeType, id: string): Forbidden | undefined =>
  scope[type]?.has(id) === false
    ? new Forbidden({ code: "RESOURCE_OUT_OF_SCOPE", message: `this key does not reach that ${type}` })
    : undefined

/** The ids of a type that the key is narrowed to, for lists; `undefined`: it is not. */
export const scopedIds = ({ scope }: Principal, type: ScopeType): ReadonlyArray<string> | undefined => {
  const ids = scope[type]
  return ids === undefined ? undefined : [...ids]
}

/** What the runs of a key may use; `undefined` for a key that is not narrowed in it. */
export const runReach = ({ scope }: Principal): RunReach | undefined => {
  const { connection, connector, secret } = scope
  if (connection === undefined && connector === undefined && secret === undefined) return undefined
  return {
    ...(connector === undefined ? {} : { connectors: [...connector] }),
    ...(connection === undefined ? {} : { connections: [...connection] }),
    ...(secret === undefined ? {} : { secrets: [...secret] })
  }
}

/** Why a key may not make a resource, or change what all of a type depend on: it is narrowed to particular ones. */
export const narrowedKeyRefusal = ({ scope }: Principal, type: ScopeType, what: string): Forbidden | undefined =>
  scope[type] === undefined
    ? undefined
    : new Forbidden({
        code: "RESOURCE_OUT_OF_SCOPE",
        message: `this key is narrowed to particular ${type}s: ${what}`
      })

export const reaches = (caller: Principal, customer: CustomerId): boolean =>
  caller.customers === "all" || caller.customers.has(customer)

/** Keys are service accounts and act under their own name. In canonical order, which makes its sealing cheap. */
export const actorOf = (caller: Principal): AuditActor => ({
  id: caller.key.id,
  ip: caller.ip,
  name: caller.key.name,
  onBehalfOf: null,
  type: "service_account",
  userAgent: caller.userAgent
})
