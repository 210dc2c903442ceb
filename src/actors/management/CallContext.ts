/** The request that a use case serves: its caller, its audit policy, and the version that it expects. */
import { Effect } from "effect"
import type { CustomerId } from "../../domain/Ids.js"
import type { AuditEntry } from "../../domain/audit/Audit.js"
import { versionMismatch } from "../../domain/Failure.js"
import type { Principal, Sharing } from "./Caller.js"

/** One call of a use case. */
export interface CallContext {
  readonly caller: Principal
  /** Action and resource type of the audit entry of a change; `null` for a read. */
  readonly audit: { readonly action: string; readonly resource: string } | null
  readonly sharing: Sharing | undefined
  /** The version that the request requires in a header; `undefined`: any version. */
  readonly expectedVersion: number | undefined
  /** The customer that the request names in its headers. */
  readonly namedCustomer: CustomerId | null
  /** The customer of the record that the use case found, for the audit entry. */
  customerId: AuditEntry["customerId"]
  /** The use case has written the audit entry; the pipeline must not write another. */
  isAudited: boolean
}

/** Fails with `Conflict` unless the caller read version `current`. `bodyVersion`: the version in the request's body. */
export const checkVersion = ({ expectedVersion }: CallContext, bodyVersion: number | undefined, current: number) => {
  const expected = expectedVersion ?? bodyVersion
  return expected === undefined || expected === current ? Effect.void : versionMismatch()
}

/** Runs a command of which the actor writes the audit entry, and marks the call as audited. */
export const runAuditedCommand = <A, E, R>(context: CallContext, order: Effect.Effect<A, E, R>) =>
  Effect.tap(order, () =>
    Effect.sync(() => {
      context.isAudited = true
    })
  )
