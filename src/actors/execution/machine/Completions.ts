/** Host calls of one run that have ended or have to be postponed, in the order in which that happened. */
import type { CallFailure, CallResult } from "../../../domain/run/RunJournal.js"
import type { CallEnd, HostCallResult, Postponement } from "../calls/HostCall.js"
import type { PendingCall } from "../PendingCall.js"
import type { HeldAnswer } from "./Messages.js"

/** A call that ended, or that has to be made later. */
export type Completion = CompletedCall | PostponedCall

/** A call that goes on later, so that its run may be suspended. */
export interface PostponedCall {
  readonly _tag: "Postponed"
  readonly call: PendingCall
  readonly until: Postponement
}

/** A call that has ended, with its result for the journal. */
export interface CompletedCall {
  readonly _tag: "Ended"
  readonly call: PendingCall
  readonly result: CallResult
  readonly secret: HostCallResult["secret"]
  /** Unix milliseconds. */
  readonly at: number
  readonly attempts: ReadonlyArray<{
    readonly startedAt: number
    readonly finishedAt: number
    readonly error: CallFailure | null
  }>
  /** The journal row of the result is already committed. */
  readonly isWritten: boolean
  /** What the answer takes of the node's memory, to be released once the result is fed and committed. */
  readonly held: HeldAnswer | undefined
}

/** A call that ended at `at`; its only attempt began when the call did, unless it notes others. */
export const completedCall = (
  call: PendingCall,
  result: CallResult,
  at: number,
  more: Partial<Pick<CompletedCall, "secret" | "isWritten" | "held">> = {}
): CompletedCall => ({
  _tag: "Ended",
  call,
  result,
  at,
  secret: more.secret,
  isWritten: more.isWritten === true,
  held: more.held,
  attempts:
    call.notes.attempts.length > 0
      ? call.notes.attempts
      : [{ startedAt: call.startedAt, finishedAt: at, error: result.ok ? null : result.failure }]
})

/** What a call's end means for its run. */
export const completionOf = (call: PendingCall, end: CallEnd, at: number, held: HeldAnswer | undefined): Completion => {
  switch (end._tag) {
    case "Postponement":
      return { _tag: "Postponed", call, until: end }
    case "Failed":
      return completedCall(call, { ok: false, failure: end.failure }, at, { held })
    case "Succeeded":
      return completedCall(call, { ok: true, value: end.result.value }, at, { held, secret: end.result.secret })
  }
}

/** Completions that are taken, and so fed to the guest and committed, at a time. */
const maxTaken = 100
/** Bytes of their answers: a larger one is taken alone. */
const maxTakenBytes = 1024 * 1024

export class Completions {
  private readonly waiting: Array<Completion> = []

  /** Adds a call that has ended. One whose row is in the journal already is fed before those whose row is still to come. */
  add(completion: Completion): void {
    const isWritten = (one: Completion) => one._tag === "Ended" && one.isWritten
    const at = isWritten(completion) ? this.waiting.findIndex((one) => !isWritten(one)) : -1
    if (at < 0) this.waiting.push(completion)
    else this.waiting.splice(at, 0, completion)
  }

  get isEmpty(): boolean {
    return this.waiting.length === 0
  }

  /** Removes and returns the earliest ones, in their order. */
  take(): ReadonlyArray<Completion> {
    let taken = 0
    let bytes = 0
    for (const completion of this.waiting) {
      bytes += completion._tag === "Ended" ? (completion.held?.bytes ?? 0) : 0
      if (taken === maxTaken || (taken > 0 && bytes > maxTakenBytes)) break
      taken++
    }
    return this.waiting.splice(0, taken)
  }
}
