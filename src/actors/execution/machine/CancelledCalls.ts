/**
 * Calls that the guest has given up, since the failure of a step has halted their list: they end as aborted, those in flight
 * are aborted, and their approvals are withdrawn with the next change.
 */
import { approvalCall } from "../calls/ApprovalCalls.js"
import { failure } from "../calls/HostCall.js"
import type { PendingCall } from "../PendingCall.js"
import type { CallTimers } from "../calls/CallTimers.js"
import type { BriefMap } from "../../../domain/BriefMap.js"
import type { TracedCall } from "../trace/Trace.js"
import { outputInquiry } from "./EarlierResults.js"

const aborted = failure("Aborted", "another step has failed, which halts this one", "cancelled", { code: "ABORTED" })

const removeFrom = (calls: Array<PendingCall>, id: number): void => {
  const at = calls.findIndex((call) => call.id === id)
  if (at >= 0) calls.splice(at, 1)
}

/** What a run has of its calls: the part of its progress that changes when one is given up. */
export interface CallsOfRun {
  readonly calls: BriefMap<number, PendingCall>
  readonly inFlight: BriefMap<number, PendingCall>
  readonly callsOfLostGuest: BriefMap<number, PendingCall>
  readonly callTimers: CallTimers<PendingCall>
  readonly newTimers: Array<PendingCall>
  readonly waitingCalls: Array<PendingCall>
  failed: number
  readonly settle: (call: PendingCall) => void
  readonly trace: (call: TracedCall) => void
  readonly countRow: (row: number) => void
}

export class CancelledCalls {
  private readonly byId = new Map<number, PendingCall>()
  private inFlight: Array<PendingCall> = []
  private withdrawn: Array<string> = []

  /** `keyOf`: the idempotency key of a call. */
  constructor(private readonly keyOf: (call: PendingCall) => string) {}

  /** Those in flight that are to be aborted, since they were taken last. */
  takeInFlight(): ReadonlyArray<PendingCall> {
    const { inFlight } = this
    if (inFlight.length > 0) this.inFlight = []
    return inFlight
  }

  /** Whether approvals are to be withdrawn. */
  get hasWithdrawn(): boolean {
    return this.withdrawn.length > 0
  }

  /** The idempotency keys of the calls whose approvals are withdrawn, since they were taken last. */
  takeWithdrawn(): ReadonlyArray<string> {
    const { withdrawn } = this
    if (withdrawn.length > 0) this.withdrawn = []
    return withdrawn
  }

  /**
   * Ends a call, unless its result was recorded before. `at`: Unix milliseconds. `isWritten`: its step is committed, since a
   * later result is.
   */
  cancel(p: CallsOfRun, id: number, at: number, isWritten: boolean): void {
    const call = p.calls.get(id)
    if (call === undefined) return
    this.byId.set(id, call)
    const begun = this.stop(p, call)
    p.settle(call)
    if (isWritten) return this.count(p, call, 1)
    const startedAt = begun.startedAt === 0 ? at : begun.startedAt
    const attempts = [...begun.notes.attempts, { startedAt, finishedAt: at, error: aborted }]
    p.trace({ ...begun, startedAt, attempts, finishedAt: at, result: { ok: false, failure: aborted } })
  }

  /** Takes the call from wherever it waits. Returns the one of a lost guest, if that goes on. */
  private stop(p: CallsOfRun, call: PendingCall): PendingCall {
    const { id, name } = call
    const begun = p.inFlight.get(id) ?? p.callsOfLostGuest.get(id) ?? call
    p.callTimers.remove(id)
    removeFrom(p.newTimers, id)
    removeFrom(p.waitingCalls, id)
    if (name === approvalCall) this.withdrawn.push(this.keyOf(call))
    else {
      this.inFlight.push(begun)
      p.inFlight.delete(id)
      p.callsOfLostGuest.delete(id)
    }
    return begun
  }

  /** A call that goes on after its end: what asks people may just have added its approval. */
  ended(call: PendingCall): void {
    if (call.name === approvalCall && this.byId.has(call.id)) this.withdrawn.push(this.keyOf(call))
  }

  /** The call to which a result belongs that was recorded together with the failure; its step has that result. */
  replayed(p: CallsOfRun, id: number): PendingCall | undefined {
    const call = this.byId.get(id)
    if (call !== undefined) this.count(p, call, -1)
    return call
  }

  private count(p: CallsOfRun, call: PendingCall, by: number): void {
    p.countRow(call.row)
    if (call.name !== outputInquiry) p.failed += by
  }
}
