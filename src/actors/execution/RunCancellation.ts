/** Cancels runs, wherever they are driven. */
import { Clock, Effect, Option } from "effect"
import { decide, isEnd, type RunEnd } from "../../domain/run/Execution.js"
import { InvalidState, NotFound, Unavailable } from "../../domain/Failure.js"
import { guest } from "../../domain/Limits.js"
import type { Executions } from "../ports/run/Executions.js"
import { type FinishedRun, Journal, notStored, type OpenRun } from "../ports/run/Journal.js"
import { Ownership } from "../ports/Ownership.js"
import { Runs } from "../ports/run/Runs.js"
import { make as makeEndMessages } from "./EndMessages.js"
import { LiveRuns } from "./LiveRuns.js"
import { Execution } from "./Protocol.js"
import { finishedRun } from "./RunResult.js"
import { runError } from "./RunSpec.js"

export const unavailable = (reason: string) => new Unavailable({ reason, retryAfterSeconds: 1 })

const cancelledRun = (run: OpenRun, { status, statusReason }: RunEnd, now: number): FinishedRun =>
  finishedRun(
    run,
    {
      status,
      statusReason,
      output: null,
      at: now,
      error: runError({ name: "Cancelled", category: "cancelled", message: "the run was cancelled" })
    },
    null,
    guest.memoryBytes
  )

/** Makes the function that cancels a run. */
export const makeCancellation = Effect.gen(function* () {
  const journal = yield* Journal
  const { messagesOf } = yield* makeEndMessages
  const ownership = yield* Ownership
  const runs = yield* Runs
  const live = yield* LiveRuns
  const execution = yield* Execution.client

  const cancel: Executions["Type"]["cancel"] = Effect.fn("Executions.cancel")(function* (organisation, id, audit) {
    const find = runs.get(organisation, id).pipe(Effect.mapError(notStored))
    const stored = yield* find
    const found = Option.isNone(stored) && (yield* live.commitStart(id)) ? yield* find : stored
    if (Option.isNone(found)) return yield* new NotFound({ what: "execution" })
    const run = found.value
    const event = decide(run, { _tag: "Cancel" })
    if (!isEnd(event))
      return yield* new InvalidState({ state: run.status, message: "the run cannot be cancelled any more" })
    const end = cancelledRun(run, event, yield* Clock.currentTimeMillis)
    const messages = yield* Effect.mapError(messagesOf(end), notStored)
    yield* journal
      .append({
        id,
        organisationId: organisation,
        spaceId: run.spaceId,
        retention: run.retention,
        epoch: run.epoch,
        end,
        audit,
        ...messages
      })
      .pipe(
        Effect.mapError((error): Unavailable | "fenced" => (error._tag === "Fenced" ? "fenced" : notStored(error))),
        Effect.catchIf(
          (error): error is "fenced" => error === "fenced",
          () => new InvalidState({ state: "running", message: "the run changed its owner meanwhile: try again" })
        )
      )
    yield* live.stop(id, Option.some(end))
    if (!ownership.owns(run.shard)) {
      // The owner is fenced at its next append; the message only makes it stop sooner.
      yield* execution(id)
        .Stop({ status: "cancelled" })
        .pipe(Effect.timeout("1 second"), Effect.sandbox, Effect.ignore, Effect.forkDaemon)
    }
    return end
  })

  /** Cancels again with a fresh read when the run changed its owner in between. */
  const cancelWithRetry: Executions["Type"]["cancel"] = (organisation, id, audit) =>
    cancel(organisation, id, audit).pipe(Effect.retry({ times: 3, while: (error) => error._tag === "InvalidState" }))

  return cancelWithRetry
})
