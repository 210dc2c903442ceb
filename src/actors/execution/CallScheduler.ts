/**
 * Makes a run's host calls: at most `guest.callsAtOnce` at a time, in the guest's order, each as its kind requires.
 * Everything recorded so far is committed before a call to the outside is made.
 */
import { type Clock, Duration, Effect, Exit, Option } from "effect"
import { guest } from "../../domain/Limits.js"
import type { Json } from "../../domain/Json.js"
import { type CallFailure, type DoneEntry, reuseKey } from "../../domain/RunJournal.js"
import { withFaultPoints, type FaultPoints } from "../ports/Faults.js"
import type { AppendFailure } from "../ports/Journal.js"
import { type HostCallResult, failure, type HostCall, isTimer, type Postponement, refusedCall } from "./HostCall.js"
import type { HostCalls } from "./HostCalls.js"
import type { Completion, CompletionQueue } from "./CompletionQueue.js"
import type { PendingCall, Progress } from "./Progress.js"

/** A timer up to this long runs in memory; a longer one is journaled and may suspend the run. */
export const shortTimerMillis = 1_000

/** Timers that are set before their journal rows are committed. */
const timersPerFlush = 500

export const makeCallScheduler = (
  host: HostCalls,
  faults: FaultPoints,
  clock: Clock.Clock,
  sha256: (text: string) => string,
  flush: (p: Progress) => Effect.Effect<void, AppendFailure>
) => {
  /** The same key for every repetition of the call, also in re-runs that resume this run. */
  const idempotencyKeyOf = (p: Progress, call: PendingCall): string =>
    sha256(`${p.run.record.rootId}|${call.id}${p.isChanged(call) ? `|${call.hash}` : ""}`)

  const resultOf = (exit: Exit.Exit<HostCallResult, CallFailure>): DoneEntry["result"] =>
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

  const complete = (
    queue: CompletionQueue,
    call: PendingCall,
    answer: Effect.Effect<HostCallResult, CallFailure | Postponement>
  ) =>
    Effect.map(Effect.exit(answer), (exit) => {
      const until = postponementOf(exit)
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
        attempts:
          attempts.length > 0
            ? attempts
            : [{ startedAt: call.startedAt, finishedAt: at, error: result.ok ? null : result.failure }]
      })
    })

  const forkCall = (
    queue: CompletionQueue,
    call: PendingCall,
    answer: Effect.Effect<HostCallResult, CallFailure | Postponement>
  ) => Effect.asVoid(Effect.fork(complete(queue, call, answer)))

  const withCallFaults = (answer: Effect.Effect<HostCallResult, CallFailure | Postponement>) =>
    withFaultPoints(faults, "beforeCall", answer, "called")

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
      result: { ok: true, value }
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

  // --- Timers ---

  const setTimer = (p: Progress, call: PendingCall, millis: number, now: number): void => {
    const due = p.timerEntries.get(call.id)?.due ?? now + millis
    if (millis > shortTimerMillis && !p.timerEntries.has(call.id)) {
      const entry = { kind: "timer", call: call.id, hash: call.hash, due, since: call.startedAt } as const
      p.timerEntries.set(call.id, entry)
      p.record(entry)
    }
    p.callTimers.add(call, due)
  }

  const completeTimer = (queue: CompletionQueue, call: PendingCall, at: number): void =>
    queue.offer({
      _tag: "Ended",
      call,
      at,
      result: { ok: true, value: null },
      secret: undefined,
      isWritten: false,
      attempts: [{ startedAt: call.startedAt, finishedAt: at, error: null }]
    })

  const setTimers = Effect.fnUntraced(function* (p: Progress, queue: CompletionQueue) {
    const timers = p.newTimers
    p.newTimers = []
    // One time for all of them: the guest's clock stood still while it set them.
    const now = clock.unsafeCurrentTimeMillis()
    for (let i = 0; i < timers.length; i++) {
      const call = timers[i]
      if (call === undefined) continue
      p.begin(call, p.timerEntries.get(call.id)?.since ?? now)
      if (p.reusableResults.has(reuseKey(call.id, call.hash))) completeTimer(queue, call, now)
      else setTimer(p, call, timerMillis(call), now)
      if ((i + 1) % timersPerFlush === 0) yield* flush(p)
    }
  })

  /** Waits until calls have ended, or until a postponed one is due and has a free place (then the result is empty). */
  const awaitCompletions = (p: Progress, queue: CompletionQueue): Effect.Effect<ReadonlyArray<Completion>> =>
    Effect.suspend(() => {
      if (p.callTimers.nextDue === undefined) return Effect.map(queue.awaitCompletion, () => queue.take())
      const now = clock.unsafeCurrentTimeMillis()
      for (const call of p.callTimers.takeDue(now)) {
        if (isTimer(call.name)) completeTimer(queue, call, now)
        else p.waitingCalls.push(call)
      }
      if (!queue.isEmpty) return Effect.succeed(queue.take())
      if (p.waitingCalls.length > 0 && p.inFlight.size < guest.callsAtOnce) return Effect.succeed([])
      const { nextDue: next } = p.callTimers
      const waited =
        next === undefined
          ? queue.awaitCompletion
          : Effect.raceFirst(queue.awaitCompletion, Effect.sleep(Duration.millis(Math.max(0, next - now))))
      return Effect.zipRight(waited, awaitCompletions(p, queue))
    })

  // --- Calls ---

  /**
   * Takes the calls that may begin now, in the guest's order: as many as there are free places. A call that is still in
   * flight since before the guest was lost takes its place again and is not repeated.
   */
  const takeStartable = (p: Progress, now: number): ReadonlyArray<PendingCall> => {
    const starting: Array<PendingCall> = []
    while (p.inFlight.size < guest.callsAtOnce) {
      const call = p.waitingCalls.shift()
      if (call === undefined) break
      const held = p.timerEntries.get(call.id)
      if (held !== undefined && held.due > now) {
        p.callTimers.add(call, held.due)
        continue
      }
      const earlier = p.callsOfLostGuest.get(call.id)
      const isInFlight = earlier !== undefined && earlier.hash === call.hash
      p.inFlight.set(call.id, isInFlight ? earlier : call)
      if (isInFlight) p.begin(call, earlier.startedAt)
      else starting.push(call)
    }
    return starting
  }

  const launchCalls = Effect.fnUntraced(function* (p: Progress, queue: CompletionQueue) {
    p.enqueue()
    if (p.newTimers.length > 0) yield* setTimers(p, queue)
    const outgoing: Array<readonly [PendingCall, Effect.Effect<HostCallResult, CallFailure | Postponement>]> = []
    const writes: Array<readonly [PendingCall, Extract<HostCall, { _tag: "Write" }>]> = []
    for (const call of takeStartable(p, clock.unsafeCurrentTimeMillis())) {
      p.begin(call, p.timerEntries.get(call.id)?.since ?? clock.unsafeCurrentTimeMillis())
      const reused = p.reusableResults.get(reuseKey(call.id, call.hash))
      if (reused !== undefined) {
        yield* forkCall(queue, call, reuseResult(p, reused))
        continue
      }
      const plan = call.tooDeep ? refusedCall(nestsTooDeep(call)) : yield* planCall(p, call)
      switch (plan._tag) {
        case "Refused":
          yield* forkCall(queue, call, Effect.fail(plan.failure))
          break
        case "Read":
          yield* forkCall(queue, call, plan.run)
          break
        case "Write":
          writes.push([call, plan])
          break
        case "Outside":
          outgoing.push([call, plan.run])
          break
      }
    }
    for (const [call, plan] of writes) yield* writeState(p, queue, call, plan)
    if (outgoing.length > 0) {
      yield* flush(p)
      p.outsideCalls += outgoing.length
      for (const [call, answer] of outgoing) yield* forkCall(queue, call, withCallFaults(answer))
    }
  })

  const planCall = (p: Progress, call: PendingCall) => {
    const held = p.timerEntries.get(call.id)?.held
    const notes = held === undefined ? call.notes : Object.assign(call.notes, { earlierAttempts: held.attempts })
    return host.plan({ spec: p.spec, name: call.name, args: call.args, key: idempotencyKeyOf(p, call), notes })
  }

  /** The success that an earlier attempt of the run journaled; a secret is read again. */
  const reuseResult = (p: Progress, entry: DoneEntry): Effect.Effect<HostCallResult, CallFailure> =>
    entry.secret !== undefined
      ? Effect.flatMap(
          host.secretAt(p.spec, entry.secret),
          Option.match({
            onNone: () => Effect.fail(failure("SecretNotFound", "the secret is gone", "code")),
            onSome: Effect.succeed
          })
        )
      : Effect.succeed({ value: entry.result.ok ? entry.result.value : null })

  return { launchCalls, awaitCompletions }
}

const nestsTooDeep = (call: PendingCall): CallFailure =>
  failure("RangeError", `an argument of ${call.name} nests deeper than ${guest.argumentDepth} levels: flatten it`)

const timerMillis = ({ args: [millis] }: PendingCall): number =>
  typeof millis === "number" && millis > 0 ? Math.min(millis, Duration.toMillis(guest.timer)) : 0
