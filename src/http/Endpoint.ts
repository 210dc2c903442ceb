/**
 * What every endpoint must declare beside its shape: the permission that it needs and how it is audited. One gate reads
 * these annotations; a test walks all endpoints and fails on one that has them not.
 */
import { Context } from "effect"
import type { Permission } from "../domain/Permission.js"

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

/**
 * What of an endpoint concerns all customers, for keys that reach only some. `customers`: its records are customers', and
 * it keeps to those that the key reaches. `read`: it reads what all share. `perRecord`: its records are a customer's or
 * shared, and a change is judged by the record that it turns out to be of. `change`: it changes what all share. `hidden`:
 * it tells or changes what concerns the organisation alone.
 */
export type Sharing = "customers" | "read" | "perRecord" | "change" | "hidden"

export class Shared extends Context.Tag("svc/Shared")<Shared, Sharing>() {}
