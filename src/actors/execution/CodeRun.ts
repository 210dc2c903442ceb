/**
 * Drives one run of a workflow in code form: feeds the guest, makes its host calls, and writes everything down in the
 * order that lets another node go on from any point. Nothing outside sees a run before its start is committed; a
 * result may be fed at once, but what follows from it waits for its commit.
 */
import { Clock, Duration, Effect, Option, Queue, Random } from "effect"
import { backoff, countsTowardsCeiling, decide, type RunError, tiers } from "../../domain/Execution.js"
import { isObject, type Json, unstorable, unstorableMessage } from "../../domain/Json.js"
import { guest } from "../../domain/Limits.js"
import { type CallFailure, type DoneEntry, history, reuseKey, transientCalls } from "../../domain/RunJournal.js"
import { Contracts } from "../ports/Contracts.js"
import { Digests } from "../ports/Digests.js"
import { Faults } from "../ports/Faults.js"
import { Identifiers } from "../ports/Identifiers.js"
import { type AppendFailure, ChangeRefused, Journal, type RunChange } from "../ports/Journal.js"
import { type GuestEvent, Sandbox, type SandboxFailure, type Session, SessionLost, type Turn } from "../ports/Sandbox.js"
import { callbacks, type End, finished } from "./Ending.js"
import { type Answer, failure, type HostCall, make as makeHostCalls } from "./HostCalls.js"
import { type PendingCall, Progress } from "./Progress.js"
import { type Outcome, runError, type RunSpec } from "./RunSpec.js"

/** A timer up to this long is waited for in memory; a longer one is durable and the run hibernates. */
const shortTimerMillis = 1_000
/** How often a guest may be lost under one run, through no fault of its own, before the run counts as poisoned. */
const guestLosses = 5

interface Completion {
  readonly call: PendingCall
  readonly result: DoneEntry["result"]
  readonly secret: Answer["secret"]
  readonly at: number
  readonly attempts: ReadonlyArray<{ readonly startedAt: number; readonly finishedAt: number; readonly error: CallFailure | null }>
  /** The journal row is committed already. */
  readonly written: boolean
}

const limits = { memoryBytes: guest.memoryBytes, cpuPerStepMillis: Duration.toMillis(guest.cpuPerStep) }

/** The failure of a run as a whole, or the end of this incarnation. */
type Stop = { readonly _tag: "Failed"; readonly error: RunError } | AppendFailure

const failed = (error: RunError): Effect.Effect<never, Stop> => Effect.fail({ _tag: "Failed", error })

export const make = Effect.gen(function*() {
  const sandbox = yield* Sandbox
  const journal = yield* Journal
  const contracts = yield* Contracts
  const digests = yield* Digests
  const identifiers = yield* Identifiers
  const host = yield* makeHostCalls
  const faults = yield* Faults
  const ports = {
    offload: { id: () => identifiers.next("blob"), sha256: digests.sha256Hex },
    hash: (text: string) => digests.sha256Hex(text).slice(0, 22)
  }

  // --- Writing ---

  const write = (change: RunChange): Effect.Effect<void, AppendFailure> =>
    Effect.zipRight(faults.at("beforeAppend"), Effect.zipLeft(journal.append(change), faults.at("appended")))

  const flush = (p: Progress, patch?: RunChange["patch"]): Effect.Effect<void, AppendFailure> =>
    Effect.suspend(() => {
      if (p.opened && !p.hasUnwritten && patch === undefined) return Effect.void
      p.unwritten = []
      return write(p.take(patch === undefined ? {} : { patch }))
    })

  // --- The guest ---

  const contextOf = ({ run, start }: RunSpec): Json => ({
    input: start.input,
    headers: start.headers,
    customer: start.customer,
    installation: start.installation === null ? null : { id: start.installation.id, config: start.installation.config },
    execution: {
      id: run.id, attempt: run.attempt, environment: run.record.environment, workflowVersion: run.record.workflowVersion
    }
  })

  const startEvent = (spec: RunSpec): GuestEvent => ({
    t: "start", now: spec.start.at, seed: digests.seed(spec.run.record.rootId), ctx: contextOf(spec)
  })

  const fedError = ({ category, code, data, message, name }: CallFailure, step: string) => ({
    name, message, ...(code === undefined ? {} : { code }), data: { ...(isObject(data ?? null) ? data as object : {}), category, step }
  })

  const stepOf = (call: { readonly name: string; readonly nth: number }) => `${call.name}#${call.nth + 1}`

  /** The event that feeds a recorded result; a secret is fetched again, in the version that was read. */
  const eventOf = (p: Progress, entry: DoneEntry, step: string): Effect.Effect<GuestEvent, Stop> => {
    const event = { t: "done", id: entry.call, now: entry.at } as const
    if (!entry.result.ok) return Effect.succeed({ ...event, ok: false, e: fedError(entry.result.failure, step) })
    if (entry.secret === undefined) return Effect.succeed({ ...event, ok: true, v: entry.result.value })
    return host.secretAt(p.spec, entry.secret).pipe(
      Effect.catchAll(() => Effect.fail(new ChangeRefused({ reason: "a secret could not be read" }))),
      Effect.flatMap(Option.match({
        onNone: () => failed(runError({ name: "SecretNotFound", message: "a secret that this run read is gone", category: "code", code: "SecretNotFound" })),
        onSome: (answer): Effect.Effect<GuestEvent> => {
          if (answer.secret !== undefined) p.hide(answer.secret.text)
          return Effect.succeed({ ...event, ok: true, v: answer.value })
        }
      }))
    )
  }

  const sandboxError = (error: Exclude<SandboxFailure, SessionLost>): RunError => {
    switch (error._tag) {
      case "OutOfMemory":
        return runError({ name: "OutOfMemory", code: "OUT_OF_MEMORY", category: "memory", message: `the workflow needs more than ${error.limitBytes / 1024 / 1024} MiB of memory` })
      case "CpuLimit":
        return runError({ name: "CpuLimit", code: "CPU_LIMIT", category: "timeout", message: `the workflow computed for more than ${error.limitMillis} ms without a host call` })
      case "OutputTooLarge":
        return runError({ name: "OutputTooLarge", code: "OUTPUT_TOO_LARGE", category: "contract", message: `the workflow returned or asked for more than ${error.limitBytes} bytes at once` })
      case "LoadFailed":
        return runError({ name: error.name, category: "code", message: error.message })
    }
  }

  const guestFailure = <A>(effect: Effect.Effect<A, SandboxFailure>): Effect.Effect<A, Stop | SessionLost> =>
    Effect.catchAll(effect, (error): Effect.Effect<never, Stop | SessionLost> =>
      error._tag === "SessionLost" ? Effect.fail(error) : failed(sandboxError(error)))

  /** Starts a guest and brings it to where `replay` leaves it; the guest must ask for what the journal says it asked. */
  const begin = Effect.fnUntraced(function*(p: Progress, replay: ReadonlyArray<DoneEntry>, inherited: number, known: boolean) {
    const { runnable } = p.spec
    const program = { key: `${runnable.organisationId}/${runnable.workflowId}/${runnable.contentHash}`, script: runnable.script }
    const events = yield* Effect.forEach(replay, (entry) => eventOf(p, entry, String(entry.call)))
    const turn = yield* guestFailure(sandbox.start(program, limits, startEvent(p.spec), events))
    p.spent(turn, replay.length > 0)
    for (let i = 0; i < turn.outputs.length; i++) {
      const before = replay[i - 1]
      if (before !== undefined && !known) yield* matched(p, before)
      p.absorb(turn.outputs[i] ?? [], before?.at ?? p.spec.start.at, known || (p.run.attempt > 1 && i <= inherited))
    }
    const unused = replay[turn.outputs.length - 1]
    if (unused !== undefined) yield* mismatch(unused, "the workflow ended before its history was used up")
    return turn
  })

  /** Strikes off the call that a recorded result belongs to. */
  const matched = (p: Progress, entry: DoneEntry): Effect.Effect<void, Stop> => {
    const call = p.calls.get(entry.call)
    if (call === undefined) return mismatch(entry, "the workflow did not make this call")
    if (call.hash !== entry.hash) return mismatch(entry, `the workflow now asks ${stepOf(call)}(${JSON.stringify(call.args).slice(0, 200)})`)
    p.calls.delete(entry.call)
    p.lastEventAt = entry.at
    if (entry.result.ok) p.succeeded++
    else p.failed++
    return Effect.void
  }

  const mismatch = (entry: DoneEntry, now: string): Effect.Effect<never, Stop> =>
    failed(runError({
      name: "NonDeterminism", code: "NON_DETERMINISM", category: "code",
      message: `call ${entry.call} is in the journal with request ${entry.hash}, but ${now}: ` +
        "a workflow must ask the same again when it is replayed"
    }))

  // --- Host calls ---

  const keyOf = (p: Progress, call: PendingCall): string => {
    const again = [...p.reusable.values()].some((done) => done.call === call.id && done.hash !== call.hash)
    return digests.sha256Hex(`${p.run.record.rootId}|${call.id}${again ? `|${call.hash}` : ""}`)
  }

  const complete = (inbox: Queue.Queue<Completion>, call: PendingCall, answer: Effect.Effect<Answer, CallFailure>) =>
    Effect.exit(answer).pipe(
      Effect.flatMap((exit) => Effect.flatMap(Clock.currentTimeMillis, (at) => {
        const result: DoneEntry["result"] = exit._tag === "Success" ? { ok: true, value: exit.value.value }
          : exit.cause._tag === "Fail" ? { ok: false, failure: exit.cause.error }
          : { ok: false, failure: failure("InternalError", "the service failed while it made this call", "transient") }
        return Queue.offer(inbox, {
          call, result, at, secret: exit._tag === "Success" ? exit.value.secret : undefined, written: false,
          attempts: [{ startedAt: call.startedAt, finishedAt: at, error: result.ok ? null : result.failure }]
        })
      }))
    )

  const fork = (inbox: Queue.Queue<Completion>, call: PendingCall, answer: Effect.Effect<Answer, CallFailure>) =>
    Effect.asVoid(Effect.fork(complete(inbox, call, answer)))

  const outside = (answer: Effect.Effect<Answer, CallFailure>) =>
    Effect.zipRight(faults.at("beforeCall"), Effect.zipLeft(answer, faults.at("called")))

  /** Writes state and journal row together; nothing else of this run is written meanwhile. */
  const writeState = Effect.fnUntraced(function*(p: Progress, inbox: Queue.Queue<Completion>, call: PendingCall, plan: Extract<HostCall, { _tag: "Write" }>) {
    yield* flush(p)
    const at = Math.max(yield* Clock.currentTimeMillis, p.lastEventAt)
    const seq = p.nextSeq()
    const entry = (value: Json): DoneEntry => ({ kind: "done", call: call.id, hash: call.hash, at, result: { ok: true, value } })
    const attempt = yield* host.write(plan.store, plan.write, { id: p.run.id, epoch: p.run.epoch, seq }, entry).pipe(
      Effect.map((value) => ({ result: { ok: true as const, value }, written: true })),
      Effect.catchTag("StateRefused", ({ message }) =>
        Effect.succeed({ result: { ok: false as const, failure: failure("TypeError", message) }, written: false }))
    )
    yield* Queue.offer(inbox, { call, at, secret: undefined, attempts: [{ startedAt: call.startedAt, finishedAt: at, error: null }], ...attempt })
  })

  const timer = (p: Progress, inbox: Queue.Queue<Completion>, call: PendingCall, millis: number) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const due = p.timers.get(call.id)?.due ?? now + millis
      if (millis > shortTimerMillis && !p.timers.has(call.id)) {
        const entry = { kind: "timer", call: call.id, hash: call.hash, due } as const
        p.timers.set(call.id, entry)
        p.record(entry)
      }
      return fork(inbox, call, Effect.as(Effect.sleep(Duration.millis(Math.max(0, due - now))), { value: null }))
    })

  const launch = Effect.fnUntraced(function*(p: Progress, inbox: Queue.Queue<Completion>) {
    const outgoing: Array<readonly [PendingCall, Effect.Effect<Answer, CallFailure>]> = []
    const writes: Array<readonly [PendingCall, Extract<HostCall, { _tag: "Write" }>]> = []
    for (const call of p.calls.values()) {
      if (call.launched) continue
      if (call.id >= guest.calls) {
        yield* failed(runError({ name: "TooManyCalls", category: "code", message: `a run may make ${guest.calls} host calls` }))
      }
      call.launched = true
      call.startedAt = yield* Clock.currentTimeMillis
      const reused = p.reusable.get(reuseKey(call.id, call.hash))
      if (reused !== undefined) {
        yield* fork(inbox, call, reuse(p, reused))
        continue
      }
      const plan = yield* host.plan({ spec: p.spec, name: call.name, args: call.args, key: keyOf(p, call) })
      switch (plan._tag) {
        case "Refused": yield* fork(inbox, call, Effect.fail(plan.failure)); break
        case "Read": yield* fork(inbox, call, plan.run); break
        case "Timer": yield* timer(p, inbox, call, plan.millis); break
        case "Write": writes.push([call, plan]); break
        case "Outside": outgoing.push([call, plan.run]); break
      }
    }
    for (const [call, plan] of writes) yield* writeState(p, inbox, call, plan)
    if (outgoing.length > 0) {
      yield* flush(p)
      p.outside += outgoing.length
      for (const [call, answer] of outgoing) yield* fork(inbox, call, outside(answer))
    }
  })

  /** A success of an earlier attempt, used again. */
  const reuse = (p: Progress, entry: DoneEntry): Effect.Effect<Answer, CallFailure> =>
    entry.secret !== undefined
      ? Effect.flatMap(host.secretAt(p.spec, entry.secret), Option.match({
        onNone: () => Effect.fail(failure("SecretNotFound", "the secret is gone", "code")),
        onSome: Effect.succeed
      }))
      : Effect.succeed({ value: entry.result.ok ? entry.result.value : null })

  // --- The loop ---

  /** Takes completions in and feeds them one by one, in the order in which they are recorded. */
  const deliver = Effect.fnUntraced(function*(p: Progress, session: Session, completions: Iterable<Completion>) {
    const events: Array<GuestEvent> = []
    for (const { at, attempts, call, result, secret, written } of completions) {
      p.calls.delete(call.id)
      p.timers.delete(call.id)
      p.lastEventAt = Math.max(at, p.lastEventAt)
      if (secret !== undefined) p.hide(secret.text)
      const entry: DoneEntry = {
        kind: "done", call: call.id, hash: call.hash, at: p.lastEventAt,
        result: secret === undefined ? result : { ok: true, value: null },
        ...(secret === undefined ? {} : { secret: { secretId: secret.secretId, number: secret.number } })
      }
      if (!written) {
        p.record(entry)
        p.unwritten.push(entry)
      }
      p.trace({ ...call, attempts, finishedAt: at, result: secret === undefined ? result : { ok: true, value: "[redacted]" } })
      events.push(result.ok
        ? { t: "done", id: call.id, now: p.lastEventAt, ok: true, v: result.value }
        : { t: "done", id: call.id, now: p.lastEventAt, ok: false, e: fedError(result.failure, stepOf(call)) })
    }
    const turn = yield* guestFailure(session.feed(events))
    p.spent(turn, false)
    for (let i = 0; i < turn.outputs.length; i++) p.absorb(turn.outputs[i] ?? [], events[i]?.now ?? p.lastEventAt, false)
    return turn
  })

  const overCpu = (p: Progress) => p.cpuMillis > Duration.toMillis(tiers[p.run.tier].cpu)

  /** When the run can sleep until: everything it waits for is a durable timer, the next of them far enough away. */
  const sleepsUntil = (p: Progress, now: number): number | undefined => {
    if (p.run.tier === "instant" || p.calls.size === 0) return undefined
    let next = Infinity
    for (const call of p.calls.values()) {
      const entry = p.timers.get(call.id)
      if (entry === undefined) return undefined
      next = Math.min(next, entry.due)
    }
    return next - now > shortTimerMillis ? next : undefined
  }

  /** The deadline after a wait that does not count towards the tier's ceiling. */
  const extended = (p: Progress, kind: "wait" | "retry", now: number, until: number): number =>
    countsTowardsCeiling(p.run.tier, kind) ? p.run.deadlineAt : p.run.deadlineAt + Math.max(0, until - now)

  const hibernate = Effect.fnUntraced(function*(p: Progress, now: number, until: number) {
    const [call] = p.calls.values()
    yield* flush(p, {
      wakeAt: until, deadlineAt: extended(p, "wait", now, until),
      waiting: { kind: "wait", step: call === undefined ? null : stepOf(call), until }
    })
    return { _tag: "Hibernated" } as const satisfies Outcome
  })

  const going = Effect.fnUntraced(function*(p: Progress, first: Turn): Effect.fn.Return<Outcome, Stop | SessionLost> {
    const inbox = yield* Queue.unbounded<Completion>()
    let turn = first
    for (;;) {
      if (overCpu(p)) {
        return yield* failed(runError({ name: "CpuLimit", code: "CPU_LIMIT", category: "timeout", message: `the run computed for more than ${Duration.toSeconds(tiers[p.run.tier].cpu)} s in total` }))
      }
      if (p.end !== undefined) return yield* conclude(p)
      if (p.calls.size === 0) {
        return yield* failed(runError({ name: "Stuck", code: "STUCK", category: "code", message: "the workflow waits for something that can never come" }))
      }
      yield* launch(p, inbox)
      const now = yield* Clock.currentTimeMillis
      const until = sleepsUntil(p, now)
      if (until !== undefined) return yield* hibernate(p, now, until)
      // What is known now is written while the rest is waited for.
      if (p.opened && p.hasUnwritten) yield* flush(p)
      turn = yield* deliver(p, turn.session, yield* Queue.takeBetween(inbox, 1, 100))
    }
  })

  /** A guest that was lost is started again and replayed; calls in flight are made again under their keys. */
  const again = (p: Progress, losses: number): Effect.Effect<Outcome, Stop> =>
    losses >= guestLosses
      ? failed(runError({ name: "Poisoned", code: "POISONED", category: "code", message: `the workflow's sandbox was lost ${losses} times in a row` }))
      : Effect.gen(function*() {
        if (p.opened) yield* flush(p)
        const rows = p.opened ? yield* journal.read(p.run.organisationId, p.run.id) : [p.spec.start, ...p.unwritten]
        const past = history(p.spec.start, rows.slice(1))
        const next = new Progress({ ...p.spec, run: p.run, opened: p.opened, history: past, nextSeq: p.opened ? rows.length : 1 }, ports)
        return yield* driven(next, losses + 1)
      })

  const driven = (p: Progress, losses: number): Effect.Effect<Outcome, Stop> => {
    const past = p.spec.history
    let session: Session | undefined
    return begin(p, past?.replay ?? [], past?.inherited ?? 0, false).pipe(
      Effect.flatMap((turn) => {
        session = turn.session
        return p.end !== undefined ? conclude(p) : going(p, turn)
      }),
      Effect.catchIf((error): error is SessionLost => error._tag === "SessionLost", () => again(p, losses)),
      Effect.ensuring(Effect.suspend(() => session?.close ?? Effect.void))
    )
  }

  // --- The end ---

  /** Why a returned value cannot be the run's output, if it cannot. */
  const outputError = (p: Progress, value: Json): RunError | undefined => {
    const bad = unstorable(value)
    if (bad !== undefined) {
      return runError({ name: "OutputNotStorable", category: "contract", message: `the returned value${bad.path === "" ? "" : ` at ${bad.path}`} ${unstorableMessage[bad.reason]}` })
    }
    const contract = p.spec.runnable.outputContract
    const [violation] = contract === null ? [] : contracts.violations(contract, value)
    return violation === undefined ? undefined
      : runError({ name: "OutputContractViolation", category: "contract", message: `the returned value breaks the output contract at ${violation.path}: ${violation.message}` })
  }

  const conclude = (p: Progress): Effect.Effect<Outcome, Stop> => {
    const end = p.end
    if (end === undefined || !end.ok) return failed(end?.error ?? runError({ name: "Stuck", category: "code", message: "no result" }))
    const wrong = outputError(p, end.value)
    return wrong === undefined ? close(p, { status: "completed", statusReason: null, output: end.value, error: null }) : failed(wrong)
  }

  const close = (p: Progress, end: Omit<End, "at">): Effect.Effect<Outcome, AppendFailure> =>
    Effect.flatMap(Clock.currentTimeMillis, (at) => {
      const shownEnd = { ...end, output: p.show(end.output), at }
      const done = finished({ ...p.run, startedAt: p.run.startedAt ?? p.run.createdAt }, shownEnd, p, guest.memoryBytes)
      const deliveries = callbacks(done, () => identifiers.next("dlv"))
      return write(p.take({ end: done, ...(deliveries.length > 0 ? { deliveries } : {}) })).pipe(
        Effect.zipRight(faults.at("terminal")),
        Effect.as({ _tag: "Ended", end: { ...done, output: end.output } } as const)
      )
    })

  /** A failure ends the run, or schedules its next attempt where the policy and the category allow it. */
  const fail = (p: Progress, error: RunError): Effect.Effect<Outcome, AppendFailure> => {
    const event = decide({ status: "running", attempt: p.run.attempt, maxAttempts: p.run.record.maxAttempts, tier: p.run.tier }, { _tag: "Fail", error })
    return event._tag === "RetryScheduled" ? retry(p, event.attempt)
      : close(p, { status: "failed", statusReason: null, output: null, error: { ...error, message: p.scrub.text(error.message) } })
  }

  const retry = Effect.fnUntraced(function*(p: Progress, attempt: number): Effect.fn.Return<Outcome, AppendFailure> {
    const now = yield* Clock.currentTimeMillis
    const until = now + Duration.toMillis(backoff(p.spec.runnable.retry, attempt, yield* Random.next))
    yield* flush(p)
    const rows = yield* journal.read(p.run.organisationId, p.run.id)
    const past = history(p.spec.start, rows.slice(1))
    p.record({ kind: "attempt", attempt, at: now, afresh: transientCalls(past.replay) })
    const deadlineAt = extended(p, "retry", now, until)
    yield* flush(p, { attempt, wakeAt: until, deadlineAt, waiting: { kind: "retry", step: null, until } })
    if (p.run.tier !== "instant") return { _tag: "Hibernated" }
    yield* Effect.sleep(Duration.millis(until - now))
    const next = yield* journal.read(p.run.organisationId, p.run.id)
    const run = { ...p.run, attempt, deadlineAt }
    return yield* drive({ ...p.spec, run, opened: true, history: history(p.spec.start, next.slice(1)), nextSeq: next.length })
  })

  const stopped = (error: AppendFailure): Outcome => {
    switch (error._tag) {
      case "Fenced": return { _tag: "Fenced" }
      case "ClaimTaken": return { _tag: "Repeated", target: error.target, hash: error.hash }
      case "JournalUnavailable": return { _tag: "Unwritten", reason: error.reason }
      case "ChangeRefused": return { _tag: "Unwritten", reason: error.reason }
    }
  }

  /** Postgres refused what the run wanted to record: it fails with that reason, and records nothing else. */
  const unrecordable = (p: Progress, error: ChangeRefused): Effect.Effect<Outcome, AppendFailure> =>
    close(p, { status: "failed", statusReason: null, output: null, error: runError({ name: "NotRecordable", category: "contract", message: `a value of this run cannot be stored: ${error.reason}` }) })

  /** Runs until the end, until it has nothing to do for a while, or until it may not go on here. */
  const drive = (spec: RunSpec, watch?: (progress: Progress) => void): Effect.Effect<Outcome> =>
    Effect.suspend(() => {
      const p = new Progress(spec, ports)
      watch?.(p)
      return driven(p, 0).pipe(
        Effect.catchIf((stop): stop is Extract<Stop, { _tag: "Failed" }> => stop._tag === "Failed", ({ error }) => fail(p, error)),
        Effect.catchTag("ChangeRefused", (error) => unrecordable(p, error)),
        Effect.catchAll((error) => Effect.succeed(stopped(error)))
      )
    })

  /** Ends a run whose time is up; the fiber that drove it has stopped. */
  const timeOut = (p: Progress): Effect.Effect<Outcome> =>
    close(p, { status: "timed_out", statusReason: null, output: null, error: runError({
      name: "TimedOut", category: "timeout", message: "the run took longer than it may"
    }) }).pipe(Effect.catchAll((error) => Effect.succeed(stopped(error))))

  /** Writes the calls that started before `before` and go on as running steps, so that the trace shows them. */
  const showSlow = (p: Progress, before: number): Effect.Effect<void> => {
    if (!p.opened) return Effect.void
    const slow = [...p.calls.values()].filter((call) => call.launched && !call.shown && call.startedAt < before)
    if (slow.length === 0) return Effect.void
    return Effect.ignore(journal.append(p.slowSteps(slow)))
  }

  return { drive, timeOut, showSlow }
})

export type CodeRun = Effect.Effect.Success<typeof make>
