/** The authenticated caller of a request, and what it may reach. All surfaces use this value. Specification: Authentication. */
import type { Caller } from "../../domain/access/Caller.js"
import { nounOf } from "../../domain/access/CallerKind.js"
import { Forbidden } from "../../domain/Failure.js"
import type { CustomerId, OrganisationId, RequestId, SpaceId } from "../../domain/Ids.js"
import type { Permission } from "../../domain/access/Permission.js"
import type { Plan } from "../../domain/organisation/Plan.js"
import type { RunReach } from "../../domain/run/RunJournal.js"
import { scopeIds, type ScopeType } from "../../domain/access/ResourceScope.js"
import type { KnownKey } from "../ports/organisation/Keys.js"

/**
 * How an endpoint treats callers that reach only some customers. `customers`: its records belong to customers, and it shows
 * only those that the caller reaches. `read`: it reads records that all customers share. `perRecord`: its records belong to a
 * customer or are shared, and a change is checked by its record. `change`: it changes shared records. `hidden`: it concerns
 * the organisation alone.
 */
export type Sharing = "customers" | "read" | "perRecord" | "change" | "hidden"

/** An authenticated caller, in its organisation and workspace, with the request that it sends. */
export interface Principal extends Caller {
  readonly organisationId: OrganisationId
  /** The organisation whose plan limits what the caller's uses. */
  readonly accountId: OrganisationId
  readonly spaceId: SpaceId
  readonly organisation: KnownKey["organisation"]
  readonly plan: Plan
  readonly requestId: RequestId
  readonly ip: string
  readonly userAgent: string | null
  /** Only the tenant in the path keeps it from what all customers share: its credential does not. */
  readonly isNarrowedByPath?: true
}

/** The refusal of a caller without the permission; `undefined` for one that has it. */
export const missingPermission = (caller: Principal, permission: Permission): Forbidden | undefined =>
  caller.permissions.has(permission)
    ? undefined
    : new Forbidden({
        code: "FORBIDDEN",
        needs: permission,
        message: `this ${nounOf(caller)} lacks the permission ${permission}`
      })

const notShared = (caller: Principal) =>
  new Forbidden({
    code: "FORBIDDEN",
    needs: "SUBSET_KEY",
    message: `this ${nounOf(caller)} is for some customers' data: what all customers share is closed to it`
  })

/** The refusal if the endpoint is closed to callers of some customers. */
export const sharingRefusal = (caller: Principal, sharing: Sharing | undefined): Forbidden | undefined => {
  if (!caller.isForCustomers) return undefined
  return sharing === "customers" || sharing === "read" || sharing === "perRecord" ? undefined : notShared(caller)
}

const ofOrganisation = (caller: Principal, what: string) => {
  const owner = `this ${what.replaceAll("_", " ")} belongs to the organisation, and all its customers share it`
  return new Forbidden({
    code: "FORBIDDEN",
    ...(caller.isNarrowedByPath
      ? {
          needs: "SHARED_RECORD",
          message: `${owner}: the path of a tenant changes what that tenant owns; leave /tenants/{tid} out of it to change this for all`
        }
      : {
          needs: "SUBSET_KEY",
          message: `${owner}: this ${nounOf(caller)} is for some customers' data; change it with one that is for all of them`
        })
  })
}

/**
 * The refusal if a caller of some customers may not change a record of `customer`; `null`: the organisation's, which all
 * customers share. `what`: its type.
 */
export const recordRefusal = (
  caller: Principal,
  sharing: Sharing | undefined,
  customer: CustomerId | null,
  what: string
): Forbidden | undefined =>
  sharing === "perRecord" && customer === null && caller.isForCustomers ? ofOrganisation(caller, what) : undefined

/** The refusal if the caller is narrowed to other resources of this type. Connectors are named by their slugs. */
export const outOfScope = (caller: Principal, type: ScopeType, id: string): Forbidden | undefined =>
  caller.scope[type]?.has(id) === false
    ? new Forbidden({ code: "RESOURCE_OUT_OF_SCOPE", message: `this ${nounOf(caller)} does not reach that ${type}` })
    : undefined

/** The ids of a type that the caller is narrowed to, for lists; `undefined`: it is not. */
export const scopedIds = ({ scope }: Principal, type: ScopeType): ReadonlyArray<string> | undefined => {
  const ids = scope[type]
  return ids === undefined ? undefined : [...ids]
}

/**
 * The caller as it is narrowed in what its organisation offers. The connectors of an embed session say what its page connects;
 * the integrations and workflows that its widget offers are narrowed as its key is.
 */
export const narrowedAsOffered = (caller: Principal): Principal =>
  caller.embedded === null ? caller : { ...caller, scope: scopeIds(caller.bounds.resourceScope) }

/** The resources that runs of a caller may use; `undefined`: all. What a session starts is more than an end user may do. */
export const runReach = (caller: Principal): RunReach | undefined => {
  const { connection, connector, secret } = narrowedAsOffered(caller).scope
  const mayUseRecords = caller.embedded !== null || caller.permissions.has("unified_api:execute")
  if (connection === undefined && connector === undefined && secret === undefined && mayUseRecords) return undefined
  return {
    ...(mayUseRecords ? {} : { records: "none" }),
    ...(connector === undefined ? {} : { connectors: [...connector] }),
    ...(connection === undefined ? {} : { connections: [...connection] }),
    ...(secret === undefined ? {} : { secrets: [...secret] })
  }
}

/** The refusal if a narrowed caller creates a resource of this type, or changes one that all of them depend on. */
export const narrowedCallerRefusal = (caller: Principal, type: ScopeType, what: string): Forbidden | undefined =>
  caller.scope[type] === undefined
    ? undefined
    : new Forbidden({
        code: "RESOURCE_OUT_OF_SCOPE",
        message: `this ${nounOf(caller)} is narrowed to particular ${type}s: ${what}`
      })

/** Whether the caller may act for the customer. A record without a customer is not decided here. */
export const reaches = (caller: Principal, customer: CustomerId): boolean =>
  caller.customers === "all" || caller.customers.has(customer)
