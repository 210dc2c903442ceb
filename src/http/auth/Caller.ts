/** Who asks: the key, what it may do, and for whom. Both schemes of authentication lead to this one value. */
import type { ApiKey } from "../../domain/ApiKey.js"
import type { AuditActor } from "../../domain/Audit.js"
import { Forbidden } from "../../domain/Failure.js"
import type { CustomerId, OrganisationId, RequestId, SpaceId } from "../../domain/Ids.js"
import { type Permission, type PermissionSet, toSet } from "../../domain/Permission.js"
import { type Plan, plans } from "../../domain/Plan.js"
import type { Sharing } from "../Endpoint.js"
import type { KnownKey } from "../../actors/ports/Keys.js"

export interface Principal {
  readonly organisationId: OrganisationId
  readonly spaceId: SpaceId
  readonly organisation: KnownKey["organisation"]
  readonly key: ApiKey
  readonly permissions: PermissionSet
  readonly customers: "all" | ReadonlySet<CustomerId>
  readonly plan: Plan
  readonly requestId: RequestId
  readonly ip: string
  readonly userAgent: string | null
}

const sets = new WeakMap<ApiKey, PermissionSet>()

const permissionsOf = (key: ApiKey): PermissionSet => {
  const known = sets.get(key)
  if (known !== undefined) return known
  const made = toSet(key.permissions)
  sets.set(key, made)
  return made
}

export const principal = (known: KnownKey, request: Pick<Principal, "requestId" | "ip" | "userAgent">): Principal => ({
  organisationId: known.organisation.id,
  spaceId: known.key.spaceId,
  organisation: known.organisation,
  key: known.key,
  permissions: permissionsOf(known.key),
  customers: known.key.customersMode === "all" ? "all" : new Set(known.key.customerIds),
  plan: plans[known.organisation.plan],
  ...request
})

export const missing = (caller: Principal, permission: Permission): Forbidden | undefined =>
  caller.permissions.has(permission)
    ? undefined
    : new Forbidden({ code: "FORBIDDEN", needs: permission, message: `this key lacks the permission ${permission}` })

/** Whether the key is for some customers' data only, and nobody wrote down for it what else it may do. */
const isForCustomersOnly = ({ customers, key }: Principal): boolean => customers !== "all" && key.preset !== "custom"

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

/** A key narrowed to particular resources of a type reaches no others of that type. */
export const outOfScope = (
  caller: Principal,
  type: ApiKey["resourceScope"][number]["type"],
  id: string
): Forbidden | undefined => {
  const scope = caller.key.resourceScope.filter((entry) => entry.type === type)
  return scope.length === 0 || scope.some((entry) => entry.ids.includes(id))
    ? undefined
    : new Forbidden({ code: "RESOURCE_OUT_OF_SCOPE", message: `this key does not reach that ${type}` })
}

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
