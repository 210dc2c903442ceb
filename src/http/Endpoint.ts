/**
 * What every endpoint must declare beside its shape: the permission that it needs and how it is audited. One gate reads
 * these annotations; a test walks all endpoints and fails on one that has them not.
 */
import { Context } from "effect"
import type { Sharing } from "../actors/management/Caller.js"
import type { Permission } from "../domain/Permission.js"
import type { ScopeType } from "../domain/ResourceScope.js"

/** The permission that a caller needs; a list means any of them; `anyKey` that a valid key is enough. */
export class Permit extends Context.Tag("svc/Permit")<Permit, Permission | ReadonlyArray<Permission> | "anyKey">() {}

/** How a call is recorded: under this action, or as a read, counted by the minute; or why not. */
export type AuditPolicy =
  | { readonly _tag: "Audited"; readonly action: string; readonly resource: string }
  | { readonly _tag: "Read"; readonly resource: string }
  | { readonly _tag: "NotAudited"; readonly reason: string }

export class Audited extends Context.Tag("svc/Audited")<Audited, AuditPolicy>() {}

export const audited = (action: string): AuditPolicy => ({
  _tag: "Audited",
  action,
  resource: action.split(".")[0] ?? action
})
export const read = (resource: string): AuditPolicy => ({ _tag: "Read", resource })

export class Shared extends Context.Tag("svc/Shared")<Shared, Sharing>() {}

/**
 * How the scope of a key applies to an endpoint, by type of resource. `path`: its path names one, by id. `record`: the
 * record that it is about is one, or belongs to one. `list`: it lists those in scope. `create`: it makes one, which a key
 * that is narrowed to others may not. `closed`: it is about all of them at once. `reach`: it names none itself; the run
 * that it starts finds those in scope only. A type that is not named has nothing to do with the endpoint.
 */
export type ScopeRule = "path" | "record" | "list" | "create" | "closed" | "reach"

export class Scoped extends Context.Tag("svc/Scoped")<Scoped, { readonly [T in ScopeType]?: ScopeRule }>() {}

/** How the pipeline treats the requests of an endpoint, where that is not the usual way. */
export interface RequestForm {
  /** `record`: the pipeline reads a JSON body and refuses what cannot be stored. `handler`: the handler reads it. */
  readonly body: "record" | "handler"
  /**
   * What becomes of an Idempotency-Key. `reply`: a repetition gets the first reply, which commits with the change. `lease`:
   * the same of an endpoint that may wait for a system outside, and therefore keeps no transaction open: a request that the
   * service's death cuts off may be repeated once its lease is over. `run`: the handler claims the key together with the
   * run's first row. `none`: the key is passed on.
   */
  readonly idempotency: "reply" | "lease" | "run" | "none"
  /** `reach`: headers that name a customer narrow the request to it. `act`: the handler acts for that customer. */
  readonly tenancy: "reach" | "act"
}

export const usualForm: RequestForm = { body: "record", idempotency: "reply", tenancy: "reach" }

export class Form extends Context.Tag("svc/Form")<Form, Partial<RequestForm>>() {}

/** The endpoint is open to the keys of a suspended organisation: by it the suspension is seen and ended. */
export class OpenWhileSuspended extends Context.Tag("svc/OpenWhileSuspended")<OpenWhileSuspended, true>() {}

/** The answer holds a secret: it may be kept by no cache. */
export class NoStore extends Context.Tag("svc/NoStore")<NoStore, true>() {}
