/**
 * What a run writes, one change after the other. What it has come to is on its way while its guest computes where the
 * last run of the program went on from there: the next call waits for it, and by then most of the wait is over.
 */
import { Effect, Exit, Fiber } from "effect"
import { withFaultPoints, type FaultPoints } from "../ports/Faults.js"
import type { AppendFailure, Journal, RunChange } from "../ports/Journal.js"
import { CallPrediction } from "./CallPrediction.js"
import type { Progress } from "./Progress.js"

type More = Parameters<Progress["take"]>[0]

export const makeRunWriter = (journal: Journal["Type"], faults: FaultPoints) => {
  const foresight = new CallPrediction()

  const append = (change: RunChange): Effect.Effect<void, AppendFailure> =>
    withFaultPoints(faults, "beforeAppend", journal.append(change), "appended")

  const taken = (p: Progress, more: More): RunChange => {
    p.unwritten = []
    return p.take(more)
  }

  /** Waits for what is on its way. How a write ended that was interrupted, the next one finds out. */
  const arrived = (p: Progress): Effect.Effect<void, AppendFailure> => {
    const { writing } = p
    p.writing = undefined
    return writing === undefined
      ? Effect.void
      : Effect.flatMap(Fiber.await(writing), (exit) => (Exit.isInterrupted(exit) ? Effect.void : exit))
  }

  const write = (p: Progress, more: More): Effect.Effect<void, AppendFailure> =>
    Effect.suspend(() => {
      const change = taken(p, more)
      return p.writing === undefined ? append(change) : Effect.zipRight(arrived(p), append(change))
    })

  const isTaken = (p: Progress) => p.opened && !p.hasUnwritten

  /** Everything so far is committed when this is done. */
  const flush = (p: Progress, patch?: RunChange["patch"]): Effect.Effect<void, AppendFailure> =>
    Effect.suspend(() => {
      if (patch !== undefined) return write(p, { patch })
      return isTaken(p) ? arrived(p) : write(p, {})
    })

  /** Before the guest computes: sends what is not written on its way, where another call will probably follow. */
  const ahead = (p: Progress): Effect.Effect<void> =>
    Effect.suspend(() =>
      isTaken(p) || p.writing !== undefined || !foresight.goesOn(p.program, p.outside)
        ? Effect.void
        : Effect.map(Effect.fork(append(taken(p, {}))), (fiber) => {
            p.writing = fiber
          })
    )

  /** The last change of a run. */
  const end = (p: Progress, more: More): Effect.Effect<void, AppendFailure> =>
    Effect.suspend(() => {
      foresight.learn(p.program, p.outside)
      return write(p, more)
    })

  return { flush, ahead, end }
}
