/** Host calls of one run that have ended or have to be postponed, in the order in which that happened. */
import { Effect } from "effect"
import type { CallFailure, CallResult } from "../../../domain/run/RunJournal.js"
import type { HostCallResult, Postponement } from "./HostCall.js"
import type { PendingCall } from "../Progress.js"
import type { RunMemory } from "../RunMemory.js"

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
  readonly held?: { readonly bytes: number; readonly release: () => void }
}

/** Completions that are taken, and so fed to the guest and committed, at a time. */
const maxTaken = 100
/** Bytes of their answers: a larger one is taken alone. */
const maxTakenBytes = 1024 * 1024

/** Filled by the fibers that make calls, read by the one fiber that drives the run. */
export class CompletionQueue {
  constructor(readonly memory: RunMemory) {}

  private completions: Array<Completion> = []
  private wake: ((nonEmpty: Effect.Effect<void>) => void) | undefined

  offer(completion: Completion): void {
    this.completions.push(completion)
    this.wake?.(Effect.void)
    this.wake = undefined
  }

  take(): ReadonlyArray<Completion> {
    let taken = 0
    let bytes = 0
    for (const completion of this.completions) {
      bytes += completion._tag === "Ended" ? (completion.held?.bytes ?? 0) : 0
      if (taken === maxTaken || (taken > 0 && bytes > maxTakenBytes)) break
      taken++
    }
    return this.completions.splice(0, taken)
  }

  get isEmpty(): boolean {
    return this.completions.length === 0
  }

  /** Waits until the queue is not empty. */
  readonly awaitCompletion = Effect.async<void>((resume) => {
    if (!this.isEmpty) return resume(Effect.void)
    this.wake = resume
    return Effect.sync(() => {
      this.wake = undefined
    })
  })
}
