/**
 * Writes a run's journal, one change after the other. While the guest computes, a commit runs in the background if the
 * previous run of the same program made another call at this point; the next write waits for that commit first.
 */
import { Effect, Exit, Fiber } from "effect"
import { withFaultPoints, type FaultPoints } from "../ports/Faults.js"
import type { AppendFailure, Journal, RunChange } from "../ports/run/Journal.js"
import { CallPrediction } from "./calls/CallPrediction.js"
import type { PendingCall, Progress } from "./Progress.js"

type Additions = Parameters<Progress["takeChange"]>[0]

/** Slow calls that are shown in one change. */
const slowCallsAtOnce = 200

/** Makes the functions that commit the changes of runs. They share one call prediction. */
export const makeRunWriter = (journal: Journal["Type"], faults: FaultPoints) => {
  const prediction = new CallPrediction()

  const append = (change: RunChange): Effect.Effect<void, AppendFailure> =>
    withFaultPoints(faults, "beforeAppend", journal.append(change), "appended")

  /** Takes what is not yet written, with `additions`, and commits it. */
  const appendChange = (p: Progress, additions: Additions): Effect.Effect<void, AppendFailure> => {
    p.unwrittenResults = []
    const answers = p.unwrittenAnswers
    if (answers.length > 0) p.unwrittenAnswers = []
    return Effect.map(append(p.takeChange(additions)), () => {
      p.recordCommit()
      for (const release of answers) release()
    })
  }

  /** Waits for the commit in the background. An interrupted one counts as done: the next write is fenced if it was not. */
  const awaitCommit = (p: Progress): Effect.Effect<void, AppendFailure> => {
    const { backgroundCommit: writing } = p
    p.backgroundCommit = undefined
    return writing === undefined
      ? Effect.void
      : Effect.flatMap(Fiber.await(writing), (exit) => (Exit.isInterrupted(exit) ? Effect.void : exit))
  }

  const write = (p: Progress, additions: Additions): Effect.Effect<void, AppendFailure> =>
    Effect.suspend(() => {
      const writing = appendChange(p, additions)
      return p.backgroundCommit === undefined ? writing : Effect.zipRight(awaitCommit(p), writing)
    })

  const hasNothingToWrite = (p: Progress) => p.hasRow && !p.hasUnwritten

  /** Commits everything so far. */
  const flush = (p: Progress, patch?: RunChange["patch"]): Effect.Effect<void, AppendFailure> =>
    Effect.suspend(() => {
      if (patch !== undefined) return write(p, { patch })
      return hasNothingToWrite(p) ? awaitCommit(p) : write(p, {})
    })

  /** Before the guest computes: starts a commit in the background where another call is likely to follow. */
  const flushAhead = (p: Progress): Effect.Effect<void> =>
    Effect.suspend(() =>
      hasNothingToWrite(p) || p.backgroundCommit !== undefined || !prediction.expectsCall(p.program, p.outsideCalls)
        ? Effect.void
        : Effect.map(Effect.fork(appendChange(p, {})), (fiber) => {
            p.backgroundCommit = fiber
          })
    )

  /** Commits the start of a run that has not committed anything yet, while its guest computes. */
  const commitStart = (p: Progress): Effect.Effect<void> =>
    Effect.suspend(() =>
      p.hasRow || p.backgroundCommit !== undefined
        ? Effect.void
        : Effect.map(Effect.forkDaemon(appendChange(p, {})), (fiber) => {
            p.backgroundCommit = fiber
          })
    )

  /** Writes the last change of a run. */
  const writeEnd = (p: Progress, additions: Additions): Effect.Effect<void, AppendFailure> =>
    Effect.suspend(() => {
      prediction.learn(p.program, p.outsideCalls)
      return write(p, additions)
    })

  /** Writes calls that began before `before` and have not ended as running steps, so that the trace shows them. */
  const showSlowCalls = (p: Progress, before: number): Effect.Effect<void> | undefined => {
    if (!p.hasRow) return undefined
    const slow: Array<PendingCall> = []
    for (const call of p.unshownCalls) {
      if (slow.length === slowCallsAtOnce || call.startedAt >= before) break
      slow.push(call)
    }
    return slow.length === 0 ? undefined : Effect.ignore(journal.append(p.takeSlowSteps(slow)))
  }

  return { commitStart, flush, flushAhead, showSlowCalls, writeEnd }
}

/** What `makeRunWriter` returns: commits a run's changes, one after the other. */
export type RunWriter = ReturnType<typeof makeRunWriter>
