/** The request that a use case serves: its caller, its audit policy, and the version that it expects. */
import { Effect } from "effect"
import type { AuditEntry } from "../../domain/Audit.js"
import { Conflict } from "../../domain/Failure.js"
import type { Principal, Sharing } from "./Caller.js"

export interface CallContext {
  readonly caller: Principal
  /** The audit entry of a change has this action and resource type; `null` for what only reads. */
  readonly audit: { readonly action: string; readonly resource: string } | null
  readonly sharing: Sharing | undefined
  /** The version of the record that the caller read, where the request has it in a header; `undefined`: any. */
  readonly expectedVersion: number | undefined
  /** The customer that the call turned out to be about. */
  customerId: AuditEntry["customerId"]
  /** The call was recorded with its own audit entry: no other one is written for it. */
  isAudited: boolean
}

export const versionMismatch = () =>
  new Conflict({ code: "VERSION_MISMATCH", message: "the record has changed since you read it: read it again" })

/** Fails unless a record at version `current` is the one that the caller read. `asked`: the version in the body. */
export const checkVersion = (
  { expectedVersion }: CallContext,
  asked: number | undefined,
  current: number
): Effect.Effect<void, Conflict> => {
  const expected = expectedVersion ?? asked
  return expected === undefined || expected === current ? Effect.void : versionMismatch()
}

/** What an actor does, which writes the audit entry of it. */
export const runAuditedCommand = <A, E, R>(
  context: CallContext,
  order: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.tap(order, () =>
    Effect.sync(() => {
      context.isAudited = true
    })
  )
