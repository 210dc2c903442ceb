/** Makes a run's host calls: each in the way that its kind asks for, and in the order that the journal needs. */
import { type Clock, Duration, Effect, Exit, Option } from "effect"
import { guest } from "../../domain/Limits.js"
import type { Json } from "../../domain/Json.js"
import { type CallFailure, type DoneEntry, reuseKey } from "../../domain/RunJournal.js"
import { withFaultPoints, type FaultPoints } from "../ports/Faults.js"
import type { AppendFailure } from "../ports/Journal.js"
import { type HostCallResult, failure, type HostCall, isTimer, type Postponement, refusedCall } from "./HostCall.js"
import type { HostCalls } from "./HostCalls.js"
import type { PendingCall, Progress } from "./Progress.js"

/** A timer up to this long is waited for in memory; a longer one is durable and the run is suspended. */
export const shortTimerMillis = 1_000

/** A call that ended, or that has to be made later. */
export type Completion = CompletedCall | PostponedCall

export interface PostponedCall {
  readonly _tag: "Held"
  readonly call: PendingCall
  readonly until: Postponement
}

export interface CompletedCall {
  readonly _tag: "Ended"
  readonly call: PendingCall
  readonly result: DoneEntry["result"]
  readonly secret: HostCallResult["secret"]
  readonly at: number
  readonly attempts: ReadonlyArray<{
    readonly startedAt: number
    readonly finishedAt: number
    readonly error: CallFailure | null
  }>
  /** The journal row is committed already. */
  readonly written: boolean
}

/** More are fed in a second go, so that a guest is never given an endless list at once. */
const fedAtOnce = 100
/** Durable timers set in one go, before what was recorded of them is written. */
const timersAtOnce = 500

/** Calls that ended, in the order in which they did, for the one fiber that drives the run. */
export class Inbox {
  private ended: Array<Completion> = []
  private wake: ((filled: Effect.Effect<void>) => void) | undefined

  offer(completion: Completion): void {
    this.ended.push(completion)
    this.wake?.(Effect.void)
    this.wake = undefined
  }

  take(): ReadonlyArray<Completion> {
    return this.ended.splice(0, fedAtOnce)
  }

  get isEmpty(): boolean {
    return this.ended.length === 0
  }

  /** Waits until there is one. */
  readonly filled = Effect.async<void>((resume) => {
    if (!this.isEmpty) return resume(Effect.void)
    this.wake = resume
    return Effect.sync(() => {
      this.wake = undefined
    })
  })
}

export const makeCallScheduler = (
  host: HostCalls,
  faults: FaultPoints,
  clock: Clock.Clock,
  sha256: (text: string) => string,
  flush: (p: Progress) => Effect.Effect<void, AppendFailure>
) => {
  const keyOf = (p: Progress, call: PendingCall): string => {
    return sha256(`${p.run.record.rootId}|${call.id}${p.isChanged(call) ? `|${call.hash}` : ""}`)
  }

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

  /** Whether the call did not end but has to wait. */
  const postponed = (exit: Exit.Exit<HostCallResult, CallFailure | Postponement>): Postponement | undefined =>
    Exit.isFailure(exit) && exit.cause._tag === "Fail" && "_tag" in exit.cause.error ? exit.cause.error : undefined

  const complete = (
    inbox: Inbox,
    call: PendingCall,
    answer: Effect.Effect<HostCallResult, CallFailure | Postponement>
  ) =>
    Effect.map(Effect.exit(answer), (exit) => {
      const until = postponed(exit)
      if (until !== undefined) return inbox.offer({ _tag: "Held", call, until })
      // Not postponed: then what it failed with is the call's own failure.
      const result = resultOf(exit as Exit.Exit<HostCallResult, CallFailure>)
      const at = clock.unsafeCurrentTimeMillis()
      const { attempts } = call.notes
      inbox.offer({
        _tag: "Ended",
        call,
        result,
        at,
        secret: Exit.isSuccess(exit) ? exit.value.secret : undefined,
        written: false,
        attempts:
          attempts.length > 0
            ? attempts
            : [{ startedAt: call.startedAt, finishedAt: at, error: result.ok ? null : result.failure }]
      })
    })

  const fork = (inbox: Inbox, call: PendingCall, answer: Effect.Effect<HostCallResult, CallFailure | Postponement>) =>
    Effect.asVoid(Effect.fork(complete(inbox, call, answer)))

  const outside = (answer: Effect.Effect<HostCallResult, CallFailure | Postponement>) =>
    withFaultPoints(faults, "beforeCall", answer, "called")

  /** Writes state and journal row together; nothing else of this run is written meanwhile. */
  const writeState = Effect.fnUntraced(function* (
    p: Progress,
    inbox: Inbox,
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
      Effect.map((value) => ({ result: { ok: true as const, value }, written: true })),
      Effect.catchTag("StateRefused", ({ message }) =>
        Effect.succeed({ result: { ok: false as const, failure: failure("TypeError", message) }, written: false })
      )
    )
    inbox.offer({
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
    const due = p.timers.get(call.id)?.due ?? now + millis
    if (millis > shortTimerMillis && !p.timers.has(call.id)) {
      const entry = { kind: "timer", call: call.id, hash: call.hash, due, since: call.startedAt } as const
      p.timers.set(call.id, entry)
      p.record(entry)
    }
    p.alarms.add(call, due)
  }

  const ring = (inbox: Inbox, call: PendingCall, at: number): void =>
    inbox.offer({
      _tag: "Ended",
      call,
      at,
      result: { ok: true, value: null },
      secret: undefined,
      written: false,
      attempts: [{ startedAt: call.startedAt, finishedAt: at, error: null }]
    })

  const setTimers = Effect.fnUntraced(function* (p: Progress, inbox: Inbox) {
    const asked = p.sleeps
    p.sleeps = []
    // One time for all of them: it stood still for the guest while it set them.
    const now = clock.unsafeCurrentTimeMillis()
    for (let i = 0; i < asked.length; i++) {
      const call = asked[i]
      if (call === undefined) continue
      p.begin(call, p.timers.get(call.id)?.since ?? now)
      if (p.reusable.has(reuseKey(call.id, call.hash))) ring(inbox, call, now)
      else setTimer(p, call, timerMillis(call), now)
      if ((i + 1) % timersAtOnce === 0) yield* flush(p)
    }
  })

  /** Waits until calls have ended, or until one may begin that was held back. */
  const completions = (p: Progress, inbox: Inbox): Effect.Effect<ReadonlyArray<Completion>> =>
    Effect.suspend(() => {
      if (p.alarms.next === undefined) return Effect.map(inbox.filled, () => inbox.take())
      const now = clock.unsafeCurrentTimeMillis()
      for (const call of p.alarms.takeDue(now)) {
        if (isTimer(call.name)) ring(inbox, call, now)
        else p.queue.push(call)
      }
      if (!inbox.isEmpty) return Effect.succeed(inbox.take())
      if (p.queue.length > 0 && p.underWay.size < guest.callsAtOnce) return Effect.succeed([])
      const { next } = p.alarms
      const waited =
        next === undefined
          ? inbox.filled
          : Effect.raceFirst(inbox.filled, Effect.sleep(Duration.millis(Math.max(0, next - now))))
      return Effect.zipRight(waited, completions(p, inbox))
    })

  // --- Calls ---

  /** The calls that may begin now: as many as there are places, in the guest's order. */
  const due = (p: Progress, now: number): ReadonlyArray<PendingCall> => {
    const starting: Array<PendingCall> = []
    while (p.underWay.size < guest.callsAtOnce) {
      const call = p.queue.shift()
      if (call === undefined) break
      const held = p.timers.get(call.id)
      if (held !== undefined && held.due > now) {
        p.alarms.add(call, held.due)
        continue
      }
      const carried = p.carried.get(call.id)
      const goesOn = carried !== undefined && carried.hash === call.hash
      p.underWay.set(call.id, goesOn ? carried : call)
      if (goesOn) p.begin(call, carried.startedAt)
      else starting.push(call)
    }
    return starting
  }

  const launch = Effect.fnUntraced(function* (p: Progress, inbox: Inbox) {
    p.enqueue()
    if (p.sleeps.length > 0) yield* setTimers(p, inbox)
    const outgoing: Array<readonly [PendingCall, Effect.Effect<HostCallResult, CallFailure | Postponement>]> = []
    const writes: Array<readonly [PendingCall, Extract<HostCall, { _tag: "Write" }>]> = []
    for (const call of due(p, clock.unsafeCurrentTimeMillis())) {
      p.begin(call, p.timers.get(call.id)?.since ?? clock.unsafeCurrentTimeMillis())
      const reused = p.reusable.get(reuseKey(call.id, call.hash))
      if (reused !== undefined) {
        yield* fork(inbox, call, reuse(p, reused))
        continue
      }
      const plan = call.tooDeep ? refusedCall(nestsTooDeep(call)) : yield* planned(p, call)
      switch (plan._tag) {
        case "Refused":
          yield* fork(inbox, call, Effect.fail(plan.failure))
          break
        case "Read":
          yield* fork(inbox, call, plan.run)
          break
        case "Write":
          writes.push([call, plan])
          break
        case "Outside":
          outgoing.push([call, plan.run])
          break
      }
    }
    for (const [call, plan] of writes) yield* writeState(p, inbox, call, plan)
    if (outgoing.length > 0) {
      yield* flush(p)
      p.outside += outgoing.length
      for (const [call, answer] of outgoing) yield* fork(inbox, call, outside(answer))
    }
  })

  const planned = (p: Progress, call: PendingCall) => {
    const held = p.timers.get(call.id)?.held
    const notes = held === undefined ? call.notes : Object.assign(call.notes, { made: held.attempts })
    return host.plan({ spec: p.spec, name: call.name, args: call.args, key: keyOf(p, call), notes })
  }

  /** A success of an earlier attempt, used again. */
  const reuse = (p: Progress, entry: DoneEntry): Effect.Effect<HostCallResult, CallFailure> =>
    entry.secret !== undefined
      ? Effect.flatMap(
          host.secretAt(p.spec, entry.secret),
          Option.match({
            onNone: () => Effect.fail(failure("SecretNotFound", "the secret is gone", "code")),
            onSome: Effect.succeed
          })
        )
      : Effect.succeed({ value: entry.result.ok ? entry.result.value : null })

  return { launch, completions }
}

const nestsTooDeep = (call: PendingCall): CallFailure =>
  failure("RangeError", `an argument of ${call.name} nests deeper than ${guest.argumentDepth} levels: flatten it`)

const timerMillis = ({ args: [millis] }: PendingCall): number =>
  typeof millis === "number" && millis > 0 ? Math.min(millis, Duration.toMillis(guest.timer)) : 0
