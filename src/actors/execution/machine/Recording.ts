/** Records the results of calls in the journal and the trace, and makes the events that feed them to the guest. */
import { guestError, outcomeOf, type DoneEntry } from "../../../domain/run/RunJournal.js"
import type { GuestEvent, GuestOutput, Turn } from "../../ports/run/Sandbox.js"
import type { Progress } from "../Progress.js"
import { stepName } from "../trace/Trace.js"
import type { CompletedCall, PostponedCall } from "./Completions.js"

/** Outputs of the guest that are handled before another run may come first. */
const outputsPerSlice = 100

/** What the guest gets as the result of a call. */
export const resultJson = ({ call, result, secret }: CompletedCall): string =>
  secret === undefined ? JSON.stringify(result.ok ? result.value : guestError(result.failure, stepName(call))) : "null"

/** Adds a result to the journal and the trace, without the value of a secret; returns the event that feeds it. */
export const recordResult = (p: Progress, completed: CompletedCall, json: string): GuestEvent => {
  const { at, attempts, call, held, isWritten, result, secret } = completed
  if (held !== undefined) p.unwrittenAnswers.push(held.release)
  const { ok } = result
  const { reuses } = call.notes
  if (ok && reuses !== undefined) {
    const { hash, id, place } = call
    p.record({
      kind: "reused",
      call: id,
      hash,
      ...(place === undefined ? {} : { place }),
      at: p.lastEventAt,
      of: reuses
    })
  } else if (isWritten) p.journalBytes += json.length
  else {
    p.journalBytes += json.length
    const entry: DoneEntry = {
      kind: "done",
      call: call.id,
      hash: call.hash,
      ...(call.place === undefined ? {} : { place: call.place }),
      at: p.lastEventAt,
      ok,
      outcome: outcomeOf(result),
      json,
      ...(secret === undefined ? {} : { secret: { secretId: secret.secretId, number: secret.number } }),
      ...(call.notes.hidden === undefined ? {} : { hidden: call.notes.hidden })
    }
    p.record(entry)
  }
  p.trace({
    ...call,
    attempts,
    finishedAt: at,
    ...(secret === undefined ? { result, json } : { result: { ok: true, value: "[redacted]" } })
  })
  const event = { t: "done", id: call.id, now: p.lastEventAt } as const
  return secret === undefined ? { ...event, ok, json } : { ...event, ok: true, v: result.ok ? result.value : null }
}

/** Journals until when a call waits and how many attempts it has had, so that another process can go on with it. */
export const recordPostponement = (p: Progress, { call, until }: PostponedCall): void => {
  const known = p.timerEntries.get(call.id)
  // Nothing has changed since another process, or this one, asked.
  if (until.why === "approval" && known?.held?.why === "approval" && known.due === until.at)
    return p.callTimers.add(call, until.at)
  const held = { why: until.why, attempts: until.attempts }
  const entry = { kind: "timer", call: call.id, hash: call.hash, due: until.at, since: call.startedAt, held } as const
  p.timerEntries.set(call.id, entry)
  p.record(entry)
  p.callTimers.add(call, until.at)
  if (until.why !== "approval") return
  // Nothing else shows a call that people let wait: a suspended run has none in flight.
  call.isShown = true
  p.unshownCalls.delete(call.id)
  p.trace({ ...call, attempts: [], finishedAt: null, result: null })
}

/**
 * Adds the outputs of one event to the progress, in steps between which other runs may come first. The pieces are the same
 * at every replay, because the chunks of the log are numbered by them.
 */
export const absorb = function* (
  p: Progress,
  outputs: ReadonlyArray<GuestOutput>,
  at: number,
  isRecorded: boolean,
  stepsWritten = false
): Generator<void, void> {
  if (outputs.length <= outputsPerSlice) return p.absorb(outputs, at, isRecorded, stepsWritten)
  for (let from = 0; from < outputs.length; from += outputsPerSlice) {
    p.absorb(outputs.slice(from, from + outputsPerSlice), at, isRecorded, stepsWritten)
    yield
  }
}

/** Adds the outputs of a turn, of which `events` were fed. */
export const absorbTurn = function* (
  p: Progress,
  { outputs }: Turn,
  events: ReadonlyArray<GuestEvent>
): Generator<void, void> {
  for (let i = 0; i < outputs.length; i++) {
    yield* absorb(p, outputs[i] ?? [], events[i]?.now ?? p.lastEventAt, false)
    if (i + 1 < outputs.length) yield
  }
}
