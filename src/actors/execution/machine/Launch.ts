/** Which of a run's calls and timers begin now. Contract: at most `guest.callsAtOnce` in flight, in the guest's order. */
import { Duration } from "effect"
import { guest } from "../../../domain/Limits.js"
import { callKey } from "../../../domain/run/RunJournal.js"
import { failure, type HostCall, isTimer, refusedCall } from "../calls/HostCall.js"
import type { HostCalls } from "../calls/HostCalls.js"
import type { PendingCall } from "../PendingCall.js"
import type { Progress } from "../Progress.js"
import { type Completions, completedCall } from "./Completions.js"

/** A timer up to this long runs in memory; a longer one is journaled and may suspend the run. */
export const shortTimerMillis = 1_000
/** Timers that are set before their journal rows are committed. */
const timersPerCommit = 500

const timerMillis = ({ args: [millis] }: PendingCall): number =>
  typeof millis === "number" && millis > 0 ? Math.min(millis, Duration.toMillis(guest.timer)) : 0

const setTimer = (p: Progress, call: PendingCall, millis: number, now: number): void => {
  const due = p.timerEntries.get(call.id)?.due ?? now + millis
  if (millis > shortTimerMillis && !p.timerEntries.has(call.id)) {
    const entry = { kind: "timer", call: call.id, hash: call.hash, due, since: call.startedAt } as const
    p.timerEntries.set(call.id, entry)
    p.record(entry)
  }
  p.callTimers.add(call, due)
}

/** A timer has fired. Its result is its second argument: the output of a step that is a wait. */
const completeTimer = (completions: Completions, call: PendingCall, now: number): void =>
  completions.add(completedCall(call, { ok: true, value: call.args[1] ?? null }, now))

/** Sets timers that the guest made, as many as one commit takes. */
export const setTimers = (p: Progress, now: number): void => {
  for (const call of p.newTimers.splice(0, timersPerCommit)) {
    p.begin(call, p.timerEntries.get(call.id)?.since ?? now)
    setTimer(p, call, timerMillis(call), now)
  }
}

/** Completes the timers that are due, and lets postponed calls that are due wait for a free place. */
export const fireTimers = (p: Progress, completions: Completions, now: number): void => {
  for (const call of p.callTimers.takeDue(now)) {
    if (isTimer(call.name)) completeTimer(completions, call, now)
    else p.waitingCalls.push(call)
  }
}

/**
 * Takes the calls that may begin now, in the guest's order: as many as there are free places. A call that is still in
 * flight since before the guest was lost takes its place again and is not repeated.
 */
export const takeStartable = (p: Progress, now: number): ReadonlyArray<PendingCall> => {
  const starting: Array<PendingCall> = []
  while (p.inFlight.size < guest.callsAtOnce) {
    const call = p.waitingCalls.shift()
    if (call === undefined) break
    const held = p.timerEntries.get(call.id)
    // Whether an approval was decided meanwhile, only the call itself finds out.
    if (held !== undefined && held.due > now && held.held?.why !== "approval") {
      p.callTimers.add(call, held.due)
      continue
    }
    const earlier = p.callsOfLostGuest.get(call.id)
    p.callsOfLostGuest.delete(call.id)
    const isInFlight = earlier !== undefined && earlier.hash === call.hash
    p.inFlight.set(call.id, isInFlight ? earlier : call)
    if (isInFlight) p.begin(call, earlier.startedAt)
    else starting.push(call)
  }
  return starting
}

const nestsTooDeep = (call: PendingCall): HostCall =>
  refusedCall(
    failure("RangeError", `an argument of ${call.name} nests deeper than ${guest.argumentDepth} levels: flatten it`)
  )

/** Makes the function that gives the same key to every repetition of a call, also in re-runs that resume its run. */
export const makeKeyOf =
  (sha256: (text: string) => string) =>
  (p: Progress, call: PendingCall): string => {
    const at = callKey(call.id, call.place)
    return sha256(`${p.earlier.rootOf(call, p.run)}|${at}${p.earlier.isChanged(call) ? `|${call.hash}` : ""}`)
  }

/** Makes the function that decides what a call does. */
export const makeCallPlanner =
  (plan: HostCalls["plan"]) =>
  (p: Progress, call: PendingCall, now: number): HostCall => {
    if (call.tooDeep) return nestsTooDeep(call)
    const held = p.timerEntries.get(call.id)?.held
    const notes = held === undefined ? call.notes : Object.assign(call.notes, { earlierAttempts: held.attempts })
    const { args, name, nth, place, size } = call
    return plan({ spec: p.spec, name, args, size, nth, place, key: p.ports.keyOf(p, call), notes }, now)
  }

/** Decides what a call does. `now`: Unix milliseconds. */
export type CallPlanner = ReturnType<typeof makeCallPlanner>
