/** Makes single host calls and puts their results into the run's queue of completions. */
import { type Clock, Context, Effect, Exit, FiberRef } from "effect"
import type { Json } from "../../../domain/Json.js"
import type { CallFailure, CallResult, DoneEntry } from "../../../domain/run/RunJournal.js"
import { type FaultPoints, withFaultPoints } from "../../ports/Faults.js"
import { AnswerHolding, type Holding } from "../../ports/HeldBytes.js"
import type { AppendFailure } from "../../ports/run/Journal.js"
import type { CompletionQueue } from "./CompletionQueue.js"
import { failure, type HostCall, type HostCallResult, type Postponement } from "./HostCall.js"
import type { HostCalls } from "./HostCalls.js"
import type { PendingCall, Progress } from "../Progress.js"

type Answer<R = never> = Effect.Effect<HostCallResult, CallFailure | Postponement, R>

const resultOf = (exit: Exit.Exit<HostCallResult, CallFailure>): CallResult =>
  Exit.isSuccess(exit)
    ? { ok: true, value: exit.value.value }
    : {
        ok: false,
        failure:
          exit.cause._tag === "Fail"
            ? exit.cause.error
            : failure("InternalError", "the service failed while it made this call", "transient")
      }

/** The postponement with which the call failed, if it did. */
const postponementOf = (exit: Exit.Exit<HostCallResult, CallFailure | Postponement>): Postponement | undefined =>
  Exit.isFailure(exit) && exit.cause._tag === "Fail" && "_tag" in exit.cause.error ? exit.cause.error : undefined

/**
 * The answer, counted in the holding. It must run in a fiber of its own, which keeps the holding: to restore the context as
 * `Effect.provideService` does takes longer than the rest of the fiber.
 */
const countedIn = (holding: Holding, answer: Answer<AnswerHolding>): Answer =>
  Effect.zipRight(
    FiberRef.update(FiberRef.currentContext, Context.add(AnswerHolding, holding)),
    // The context has what the answer needs.
    answer as Answer
  )

/** Makes the functions that make host calls. `flush` commits everything recorded so far. */
export const makeCallExecution = (
  host: HostCalls,
  faults: FaultPoints,
  clock: Clock.Clock,
  flush: (p: Progress) => Effect.Effect<void, AppendFailure>
) => {
  const complete = (queue: CompletionQueue, call: PendingCall, answer: Answer, holding?: Holding) =>
    Effect.map(Effect.exit(answer), (exit) => {
      const until = postponementOf(exit)
      if (holding !== undefined && (until !== undefined || holding.bytes === 0)) queue.memory.releaseAnswer(holding)
      if (until !== undefined) return queue.offer({ _tag: "Postponed", call, until })
      // Without a postponement the failure is the call's own.
      const result = resultOf(exit as Exit.Exit<HostCallResult, CallFailure>)
      const at = clock.unsafeCurrentTimeMillis()
      const { attempts } = call.notes
      queue.offer({
        _tag: "Ended",
        call,
        result,
        at,
        secret: Exit.isSuccess(exit) ? exit.value.secret : undefined,
        isWritten: false,
        ...(holding === undefined || holding.bytes === 0
          ? {}
          : { held: { bytes: holding.bytes, release: () => queue.memory.releaseAnswer(holding) } }),
        attempts:
          attempts.length > 0
            ? attempts
            : [{ startedAt: call.startedAt, finishedAt: at, error: result.ok ? null : result.failure }]
      })
    })

  /** Makes a call in a fiber of its own. */
  const forkCall = (queue: CompletionQueue, call: PendingCall, answer: Answer) =>
    Effect.asVoid(Effect.fork(complete(queue, call, answer)))

  /** Makes a call to the outside in a fiber of its own, with the fault points of tests. */
  const forkOutsideCall = (queue: CompletionQueue, call: PendingCall, answer: Answer<AnswerHolding>) => {
    const holding = queue.memory.openAnswer()
    const made = withFaultPoints(faults, "beforeCall", countedIn(holding, answer), "called")
    return Effect.asVoid(Effect.fork(complete(queue, call, made, holding)))
  }

  /** Commits a state write and its journal row in one transaction, after everything recorded before. */
  const writeState = Effect.fnUntraced(function* (
    p: Progress,
    queue: CompletionQueue,
    call: PendingCall,
    plan: Extract<HostCall, { _tag: "Write" }>
  ) {
    yield* flush(p)
    const at = Math.max(clock.unsafeCurrentTimeMillis(), p.lastEventAt)
    const seq = p.nextSeq()
    const entry = (value: Json): DoneEntry => ({
      kind: "done",
      call: call.id,
      hash: call.hash,
      at,
      ok: true,
      outcome: "ok",
      json: JSON.stringify(value)
    })
    const attempt = yield* host.write(plan.store, plan.write, { id: p.run.id, epoch: p.run.epoch, seq }, entry).pipe(
      Effect.map((value) => ({ result: { ok: true as const, value }, isWritten: true })),
      Effect.catchTag("StateRefused", ({ message }) =>
        Effect.succeed({ result: { ok: false as const, failure: failure("TypeError", message) }, isWritten: false })
      )
    )
    queue.offer({
      _tag: "Ended",
      call,
      at,
      secret: undefined,
      attempts: [{ startedAt: call.startedAt, finishedAt: at, error: null }],
      ...attempt
    })
  })

  return { forkCall, forkOutsideCall, writeState }
}
