/** Sets the timers of a run, and waits for its calls and timers. */
import { type Clock, Duration, Effect } from "effect"
import { guest } from "../../../domain/Limits.js"
import { reuseKey } from "../../../domain/run/RunJournal.js"
import type { AppendFailure } from "../../ports/run/Journal.js"
import type { Completion, CompletionQueue } from "./CompletionQueue.js"
import { isTimer } from "./HostCall.js"
import type { PendingCall, Progress } from "../Progress.js"

/** A timer up to this long runs in memory; a longer one is journaled and may suspend the run. */
export const shortTimerMillis = 1_000

/** Timers that are set before their journal rows are committed. */
const timersPerFlush = 500

/** Makes the functions that set timers and wait. `flush` commits everything recorded so far. */
export const makeTimerCalls = (clock: Clock.Clock, flush: (p: Progress) => Effect.Effect<void, AppendFailure>) => {
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

  /** Sets the timers that the guest made since the last time. */
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

  return { setTimers, awaitCompletions }
}

const timerMillis = ({ args: [millis] }: PendingCall): number =>
  typeof millis === "number" && millis > 0 ? Math.min(millis, Duration.toMillis(guest.timer)) : 0
