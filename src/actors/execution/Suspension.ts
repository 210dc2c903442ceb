/** Suspends runs until a time: commits everything so far and the time at which a node takes the run up again. */
import { Effect } from "effect"
import { decide, evolve, type WaitingUntil } from "../../domain/run/Execution.js"
import { Fenced, type OpenRun } from "../ports/run/Journal.js"
import type { Progress } from "./Progress.js"
import type { DriveOutcome } from "./RunSpec.js"
import type { RunWriter } from "./RunWriter.js"
import { shortTimerMillis } from "./calls/TimerCalls.js"
import { stepName } from "./Trace.js"

/** Makes the functions that suspend runs. */
export const makeSuspension = ({ flush }: RunWriter) => {
  /** When a suspension would end; `undefined` unless all pending calls are durable timers that are not due soon. */
  const suspensionEnd = (p: Progress, now: number): number | undefined => {
    const { nextDue, size } = p.callTimers
    if (p.run.tier === "instant" || nextDue === undefined || size < p.calls.size) return undefined
    return nextDue - now > shortTimerMillis ? nextDue : undefined
  }

  /** Commits the suspension with everything not yet written. `run`: the state to suspend; for a retry that of the next attempt. */
  const suspend = (p: Progress, run: OpenRun, at: number, waiting: WaitingUntil) => {
    const event = decide(run, { _tag: "Suspend", at, waiting })
    if (event._tag !== "Suspended") return Effect.fail(new Fenced({ id: run.id }))
    const { deadlineAt, wakeAt } = event
    const attempt = run.attempt === p.run.attempt ? {} : { attempt: run.attempt }
    return Effect.as(flush(p, { wakeAt, deadlineAt, waiting, ...attempt }), evolve(run, event))
  }

  /** Suspends the run until the next of its durable timers. */
  const suspendUntil = Effect.fnUntraced(function* (p: Progress, now: number, until: number) {
    const call = [...p.calls.values()].find(({ id }) => p.timerEntries.get(id)?.due === until)
    const kind = (call === undefined ? undefined : p.timerEntries.get(call.id)?.held?.why) ?? "wait"
    yield* suspend(p, p.run, now, { kind, step: call === undefined ? null : stepName(call), until })
    return { _tag: "Suspended" } as const satisfies DriveOutcome
  })

  return { suspend, suspendUntil, suspensionEnd }
}
