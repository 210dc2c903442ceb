/** Replies to a start: of a run that has ended, one that continues, or the run that claimed the Idempotency-Key before. */
import { Effect, Option } from "effect"
import type { Principal } from "../../actors/management/Caller.js"
import { ExecutionReads } from "../../actors/ports/run/ExecutionReads.js"
import type { StartResult } from "../../actors/ports/run/Executions.js"
import type { Runnable } from "../../actors/ports/run/Runnables.js"
import { isTerminal } from "../../domain/run/Execution.js"
import { type Failure, IdempotencyInProgress, Unavailable } from "../../domain/Failure.js"
import type { ExecutionId } from "../../domain/Ids.js"
import { idempotencyKeyReused } from "../../domain/run/RunClaim.js"
import type { RawReply } from "../Wire.js"
import { acceptedReply, endedReply } from "./RunReply.js"

/** Makes `replyTo`. */
export const makeStartReplies = Effect.gen(function* () {
  const reads = yield* ExecutionReads

  const replyTo = (
    caller: Principal,
    runnable: Runnable,
    started: StartResult,
    hash: string | undefined,
    now: number
  ): Effect.Effect<RawReply, Failure> => {
    switch (started._tag) {
      case "Ended": {
        const { error, output, run, status } = started.end
        return Effect.succeed(
          endedReply({ id: run.id, status, version: runnable.version, output, error }, caller.requestId, now)
        )
      }
      case "Moved":
        return replyFromRecord(caller, started.run.id, now)
      case "Accepted": {
        const { record, tier, id } = started.run
        return Effect.succeed(
          acceptedReply(
            { id, tier, version: runnable.version, callback: record.callbackUrl !== null },
            caller.requestId
          )
        )
      }
      case "Repeated":
        return replyToRepetition(caller, started.target, hash === started.hash, now)
    }
  }

  /** Answers from the record of a run that has ended on another node. */
  const replyFromRecord = Effect.fnUntraced(function* (
    caller: Principal,
    id: ExecutionId,
    now: number
  ): Effect.fn.Return<RawReply, Failure> {
    const found = yield* reads.find(caller, id)
    if (Option.isNone(found) || !isTerminal(found.value.view.status))
      return yield* new Unavailable({ reason: "the run is taken over by another node", retryAfterSeconds: 1 })
    const { error, output, status, workflowVersion } = found.value.view
    return endedReply({ id, status, version: workflowVersion, output, error }, caller.requestId, now)
  })

  /** Answers a repetition from the run that claimed the key. */
  const replyToRepetition = Effect.fnUntraced(function* (
    caller: Principal,
    target: ExecutionId,
    sameBody: boolean,
    now: number
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
      return acceptedReply(
        { id: run.id, tier: run.tier, version: run.workflowVersion, callback: record.callbackUrl !== null },
        caller.requestId,
        replayHeader
      )
    }
    if (!isTerminal(run.status)) return yield* new IdempotencyInProgress()
    return endedReply(
      { id: run.id, status: run.status, version: run.workflowVersion, output: run.output, error: run.error },
      caller.requestId,
      now,
      replayHeader
    )
  })

  return { replyTo }
})
