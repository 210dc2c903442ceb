/**
 * Annotations that every endpoint declares beside its schemas: permission, audit, sharing and scope. The pipeline reads
 * them from the route table; a test walks all endpoints and fails on one that lacks any.
 */
import { Context } from "effect"
import type { Sharing } from "../actors/management/Caller.js"
import type { Permission } from "../domain/Permission.js"
import type { ScopeType } from "../domain/ResourceScope.js"

/** The permission that the caller needs. A list: any one of them. `anyKey`: any valid key. */
export class Permit extends Context.Tag("svc/Permit")<Permit, Permission | ReadonlyArray<Permission> | "anyKey">() {}

/** How a call is audited: under an action, as a read (counted per minute), or not at all and why. */
export type AuditPolicy =
  | { readonly _tag: "Audited"; readonly action: string; readonly resource: string }
  | { readonly _tag: "Read"; readonly resource: string }
  | { readonly _tag: "NotAudited"; readonly reason: string }

/** The endpoint's audit policy. */
export class Audited extends Context.Tag("svc/Audited")<Audited, AuditPolicy>() {}

/** Audits under `action`, whose first part is the resource type: `workflow.execute`. */
export const auditAction = (action: string): AuditPolicy => ({
  _tag: "Audited",
  action,
  resource: action.split(".")[0] ?? action
})
/** Audits as a read of the resource type; reads of one minute are one entry with a count. */
export const auditRead = (resource: string): AuditPolicy => ({ _tag: "Read", resource })

/** Whether the endpoint's records belong to customers or are shared, for keys that reach only some customers. */
export class Shared extends Context.Tag("svc/Shared")<Shared, Sharing>() {}

/**
 * How a key's resource scope applies to an endpoint, per resource type.
 * `path`: the path has the id of one. `record`: the record is one or belongs to one. `list`: lists those in scope.
 * `count`: counts those in scope.
 * `create`: creates one, which a narrowed key may not. `closed`: concerns all of the type, so narrowed keys are refused.
 * `reach`: names none, but what it starts reaches only those in scope. Types not listed are unaffected.
 */
export type ScopeRule = "path" | "record" | "list" | "count" | "create" | "closed" | "reach"

/** The scope rule of each resource type that the endpoint touches. */
export class Scoped extends Context.Tag("svc/Scoped")<Scoped, { readonly [T in ScopeType]?: ScopeRule }>() {}

/** How the pipeline handles an endpoint's requests. */
export interface RequestForm {
  /** `record`: the pipeline parses a JSON body and refuses what cannot be stored. `handler`: the handler reads the body. */
  readonly body: "record" | "handler"
  /**
   * What an Idempotency-Key does. `reply`: the first reply commits with the change and answers repetitions. `lease`: the
   * same for an endpoint that may call an external system and so keeps no transaction open; if the process dies during
   * the request, it can be repeated after the lease expires. `run`: the handler claims the key with the run's first row.
   * `none`: the key is forwarded.
   */
  readonly idempotency: "reply" | "lease" | "run" | "none"
  /** `reach`: headers that name a customer narrow the request to that customer. `act`: the handler acts for that customer. */
  readonly tenancy: "reach" | "act"
}

/** The form of endpoints without a `Form` annotation. */
export const defaultForm: RequestForm = { body: "record", idempotency: "reply", tenancy: "reach" }

/** The members in which an endpoint's form differs from `defaultForm`. */
export class Form extends Context.Tag("svc/Form")<Form, Partial<RequestForm>>() {}

/** Keys of a suspended organisation may call the endpoint: the suspension is read and lifted through it. */
export class OpenWhileSuspended extends Context.Tag("svc/OpenWhileSuspended")<OpenWhileSuspended, true>() {}

/** The reply holds a secret and is sent with `cache-control: no-store`. */
export class NoStore extends Context.Tag("svc/NoStore")<NoStore, true>() {}
