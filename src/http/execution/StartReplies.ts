/** Replies to a start: of a run that has ended, one that continues, or the run that claimed the Idempotency-Key before. */
import { Effect, Option } from "effect"
import type { Principal } from "../../actors/management/Caller.js"
import { ExecutionReads, type RecordedRun } from "../../actors/ports/run/ExecutionReads.js"
import type { StartResult } from "../../actors/ports/run/Executions.js"
import type { Runnable } from "../../actors/ports/run/Runnables.js"
import { isTerminal } from "../../domain/run/Execution.js"
import { type Failure, IdempotencyInProgress, Unavailable } from "../../domain/Failure.js"
import type { ExecutionId } from "../../domain/Ids.js"
import { idempotencyKeyReused } from "../../domain/run/RunClaim.js"
import type { RawReply } from "../Wire.js"
import type { EndedRun, StartSurface } from "./RunReply.js"

/** A start that is answered. */
interface AnsweredStart {
  readonly caller: Principal
  readonly runnable: Runnable
  readonly started: StartResult
  /** Of the request, for its Idempotency-Key. */
  readonly hash: string | undefined
  /** Unix milliseconds. */
  readonly now: number
  readonly surface: Pick<StartSurface, "acceptedReply" | "endedReply">
}

/** A run that has ended, from its record. */
const recordedRun = ({ record, view }: RecordedRun): EndedRun => ({
  id: view.id,
  status: view.status,
  statusReason: view.statusReason,
  version: view.workflowVersion,
  output: view.output,
  error: view.error,
  answerStatus: record.answerStatus
})

/** Makes `replyTo`. */
export const makeStartReplies = Effect.gen(function* () {
  const reads = yield* ExecutionReads

  const replyTo = (start: AnsweredStart): Effect.Effect<RawReply, Failure> => {
    const { caller, hash, now, runnable, started, surface } = start
    switch (started._tag) {
      case "Ended": {
        const { answerStatus, error, output, run, status, statusReason } = started.end
        const ended = { id: run.id, status, statusReason, version: runnable.version, output, error, answerStatus }
        return Effect.succeed(surface.endedReply(ended, caller.requestId, now))
      }
      case "Moved":
        return replyFromRecord(start, started.run.id)
      case "Accepted": {
        const { record, tier, id } = started.run
        return Effect.succeed(
          surface.acceptedReply(
            { id, tier, version: runnable.version, callback: record.callbackUrl !== null },
            caller.requestId
          )
        )
      }
      case "Repeated":
        return replyToRepetition(start, started.target, hash === started.hash)
    }
  }

  /** Answers from the record of a run that has ended on another node. */
  const replyFromRecord = Effect.fnUntraced(function* (
    { caller, now, surface }: AnsweredStart,
    id: ExecutionId
  ): Effect.fn.Return<RawReply, Failure> {
    const found = yield* reads.find(caller, id)
    if (Option.isNone(found) || !isTerminal(found.value.view.status))
      return yield* new Unavailable({ reason: "the run is taken over by another node", retryAfterSeconds: 1 })
    return surface.endedReply(recordedRun(found.value), caller.requestId, now)
  })

  /** Answers a repetition from the run that claimed the key. */
  const replyToRepetition = Effect.fnUntraced(function* (
    { caller, now, surface }: AnsweredStart,
    target: ExecutionId,
    sameBody: boolean
  ): Effect.fn.Return<RawReply, Failure> {
    if (!sameBody) return yield* idempotencyKeyReused()
    const found = yield* reads.find(caller, target)
    if (Option.isNone(found))
      return yield* new Unavailable({
        reason: "the first run with this Idempotency-Key is being recorded",
        retryAfterSeconds: 1
      })
    const { record, view: run } = found.value
    const replayHeader = { "idempotent-replayed": "true" }
    if (run.tier !== "instant") {
      return surface.acceptedReply(
        { id: run.id, tier: run.tier, version: run.workflowVersion, callback: record.callbackUrl !== null },
        caller.requestId,
        replayHeader
      )
    }
    if (!isTerminal(run.status)) return yield* new IdempotencyInProgress()
    return surface.endedReply(recordedRun(found.value), caller.requestId, now, replayHeader)
  })

  return { replyTo }
})
