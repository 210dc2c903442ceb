/**
 * Makes a run's host calls: at most `guest.callsAtOnce` at a time, in the guest's order, each as its kind requires.
 * Everything recorded so far is committed before a call to the outside is made.
 */
import { type Clock, Effect, Option } from "effect"
import { guest } from "../../../domain/Limits.js"
import { type CallFailure, type IndexedCall, recordedValue, reuseKey } from "../../../domain/run/RunJournal.js"
import type { FaultPoints } from "../../ports/Faults.js"
import type { AppendFailure } from "../../ports/run/Journal.js"
import { makeCallExecution } from "./CallExecution.js"
import type { CompletionQueue } from "./CompletionQueue.js"
import { failure, type HostCall, type HostCallResult, refusedCall, unavailableFailure } from "./HostCall.js"
import type { HistoryReader } from "../guest/HistoryPages.js"
import type { HostCalls } from "./HostCalls.js"
import type { PendingCall, Progress } from "../Progress.js"
import { makeTimerCalls } from "./TimerCalls.js"

/** Makes the functions that make a run's calls and wait for their results. `flush` commits everything recorded so far. */
export const makeCallScheduler = (
  host: HostCalls,
  faults: FaultPoints,
  clock: Clock.Clock,
  sha256: (text: string) => string,
  flush: (p: Progress) => Effect.Effect<void, AppendFailure>,
  history: HistoryReader
) => {
  const { forkCall, forkOutsideCall, writeState } = makeCallExecution(host, faults, clock, flush)
  const { awaitCompletions, setTimers } = makeTimerCalls(clock, flush)

  /** The same key for every repetition of the call, also in re-runs that resume this run. */
  const idempotencyKeyOf = (p: Progress, call: PendingCall): string =>
    sha256(`${p.run.record.rootId}|${call.id}${p.isChanged(call) ? `|${call.hash}` : ""}`)

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
    const outgoing: Array<readonly [PendingCall, Extract<HostCall, { _tag: "Outside" }>["run"]]> = []
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
      for (const [call, answer] of outgoing) yield* forkOutsideCall(queue, call, answer)
    }
  })

  const planCall = (p: Progress, call: PendingCall) => {
    const held = p.timerEntries.get(call.id)?.held
    const notes = held === undefined ? call.notes : Object.assign(call.notes, { earlierAttempts: held.attempts })
    return host.plan({ spec: p.spec, name: call.name, args: call.args, key: idempotencyKeyOf(p, call), notes })
  }

  /** The success that an earlier attempt of the run journaled; a secret is read again. */
  const reuseResult = (p: Progress, entry: IndexedCall): Effect.Effect<HostCallResult, CallFailure> =>
    history
      .withPage(p.run, [entry], ([result]) => Effect.succeed(result))
      .pipe(
        Effect.mapError(unavailableFailure),
        Effect.flatMap((result) => {
          if (result?.secret === undefined) return Effect.succeed({ value: recordedValue(result) })
          return Effect.flatMap(
            host.secretAt(p.spec, result.secret),
            Option.match({
              onNone: () => Effect.fail(failure("SecretNotFound", "the secret is gone", "code")),
              onSome: Effect.succeed
            })
          )
        })
      )

  return { launchCalls, awaitCompletions }
}

const nestsTooDeep = (call: PendingCall): CallFailure =>
  failure("RangeError", `an argument of ${call.name} nests deeper than ${guest.argumentDepth} levels: flatten it`)
