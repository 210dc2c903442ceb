/** Ends runs: commits what they returned or why they failed, with the deliveries that tell of it. */
import { type Clock, Effect } from "effect"
import {
  decide,
  isEnd,
  type RunCommand,
  type RunError,
  type RunEvent,
  type RunRefused
} from "../../domain/run/Execution.js"
import type { Json } from "../../domain/Json.js"
import { guest } from "../../domain/Limits.js"
import type { Faults } from "../ports/Faults.js"
import type { AppendFailure, ChangeRefused } from "../ports/run/Journal.js"
import type { MessagesOf } from "./EndMessages.js"
import type { OutputCheck } from "./guest/OutputCheck.js"
import type { Progress } from "./Progress.js"
import { notRecordableError, stuckError, timedOutError } from "./RunErrors.js"
import { finishedRun } from "./RunResult.js"
import { type DriveFailure, type DriveOutcome, failRun, outcomeOfRefusedWrite } from "./RunSpec.js"
import type { RunWriter } from "./RunWriter.js"

const succeed: RunCommand = { _tag: "Succeed" }
const passDeadline: RunCommand = { _tag: "PassDeadline" }

export interface RunEndingOptions {
  readonly clock: Clock.Clock
  readonly faults: Faults["Type"]
  readonly messagesOf: MessagesOf
  readonly outputError: OutputCheck["outputError"]
  readonly writer: RunWriter
}

/** Makes the functions that end runs. */
export const makeRunEnding = ({ clock, faults, messagesOf, outputError, writer }: RunEndingOptions) => {
  /** Commits the end of the run with its callback. `Fenced` when the run may no longer end in this way. */
  const commitEnd = (
    p: Progress,
    event: RunEvent | RunRefused,
    output: Json,
    error: RunError | null
  ): Effect.Effect<DriveOutcome, AppendFailure> =>
    Effect.suspend(() => {
      if (!isEnd(event)) return Effect.succeed<DriveOutcome>({ _tag: "Fenced" })
      const { status, statusReason } = event
      const end = { status, statusReason, output: p.show(output), error, at: clock.unsafeCurrentTimeMillis() }
      const finished = finishedRun(p.run, end, p, guest.memoryBytes)
      return messagesOf(finished).pipe(
        Effect.flatMap((messages) => writer.writeEnd(p, { end: finished, ...messages })),
        Effect.zipRight(faults.at("terminal")),
        Effect.as<DriveOutcome>({ _tag: "Ended", end: { ...finished, output } })
      )
    })

  /** Ends the run with what the guest returned or threw, once the output satisfies its contract. */
  const finish = (p: Progress): Effect.Effect<DriveOutcome, DriveFailure> => {
    const end = p.end
    if (end === undefined || !end.ok) return failRun(end?.error ?? stuckError)
    return Effect.flatMap(outputError(p.spec.runnable, end.value), (violation) =>
      violation === undefined ? commitEnd(p, decide(p.run, succeed), end.value, null) : failRun(violation)
    )
  }

  /** Ends the run with the reason for which Postgres refused its last change; nothing else of that change is recorded. */
  const failUnrecordable = (p: Progress, { reason }: ChangeRefused): Effect.Effect<DriveOutcome, AppendFailure> => {
    const error = notRecordableError(reason)
    p.forgetRefusedChange()
    return commitEnd(p, decide(p.run, { _tag: "Fail", error }), null, error)
  }

  /** Ends a run whose deadline has passed. The caller must have interrupted the fiber that drove it. */
  const timeOut = (p: Progress): Effect.Effect<DriveOutcome> =>
    commitEnd(p, decide(p.run, passDeadline), null, timedOutError).pipe(
      Effect.catchAll((error) => Effect.succeed(outcomeOfRefusedWrite(error)))
    )

  return { commitEnd, failUnrecordable, finish, timeOut }
}
