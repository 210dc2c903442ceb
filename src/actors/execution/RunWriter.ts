/**
 * Writes a run's journal, one change after the other. While the guest computes, a commit runs in the background if the
 * previous run of the same program made another call at this point; the next write waits for that commit first.
 */
import { Effect, Exit, Fiber } from "effect"
import { withFaultPoints, type FaultPoints } from "../ports/Faults.js"
import type { AppendFailure, Journal, RunChange } from "../ports/Journal.js"
import { CallPrediction } from "./CallPrediction.js"
import type { PendingCall, Progress } from "./Progress.js"

type Additions = Parameters<Progress["take"]>[0]

/** Slow calls that one change shows. */
const slowCallsAtOnce = 200

export const makeRunWriter = (journal: Journal["Type"], faults: FaultPoints) => {
  const prediction = new CallPrediction()

  const append = (change: RunChange): Effect.Effect<void, AppendFailure> =>
    withFaultPoints(faults, "beforeAppend", journal.append(change), "appended")

  const takeChange = (p: Progress, additions: Additions): RunChange => {
    p.unwritten = []
    return p.take(additions)
  }

  /** Waits for the commit in the background. An interrupted one counts as done: the next write finds out how it ended. */
  const awaitCommit = (p: Progress): Effect.Effect<void, AppendFailure> => {
    const { writing } = p
    p.writing = undefined
    return writing === undefined
      ? Effect.void
      : Effect.flatMap(Fiber.await(writing), (exit) => (Exit.isInterrupted(exit) ? Effect.void : exit))
  }

  const write = (p: Progress, additions: Additions): Effect.Effect<void, AppendFailure> =>
    Effect.suspend(() => {
      const change = takeChange(p, additions)
      return p.writing === undefined ? append(change) : Effect.zipRight(awaitCommit(p), append(change))
    })

  const hasNothingToWrite = (p: Progress) => p.opened && !p.hasUnwritten

  /** Commits everything so far. */
  const flush = (p: Progress, patch?: RunChange["patch"]): Effect.Effect<void, AppendFailure> =>
    Effect.suspend(() => {
      if (patch !== undefined) return write(p, { patch })
      return hasNothingToWrite(p) ? awaitCommit(p) : write(p, {})
    })

  /** Before the guest computes: starts a commit in the background where another call is likely to follow. */
  const flushAhead = (p: Progress): Effect.Effect<void> =>
    Effect.suspend(() =>
      hasNothingToWrite(p) || p.writing !== undefined || !prediction.goesOn(p.program, p.outside)
        ? Effect.void
        : Effect.map(Effect.fork(append(takeChange(p, {}))), (fiber) => {
            p.writing = fiber
          })
    )

  /** Writes the last change of a run. */
  const writeEnd = (p: Progress, additions: Additions): Effect.Effect<void, AppendFailure> =>
    Effect.suspend(() => {
      prediction.learn(p.program, p.outside)
      return write(p, additions)
    })

  /** Writes calls that began before `before` and have not ended as running steps, so that the trace shows them. */
  const showSlowCalls = (p: Progress, before: number): Effect.Effect<void> | undefined => {
    if (!p.opened) return undefined
    const slow: Array<PendingCall> = []
    for (const call of p.unshown) {
      if (slow.length === slowCallsAtOnce || call.startedAt >= before) break
      slow.push(call)
    }
    return slow.length === 0 ? undefined : Effect.ignore(journal.append(p.slowSteps(slow)))
  }

  return { flush, flushAhead, showSlowCalls, writeEnd }
}
