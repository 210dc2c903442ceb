/** Every state of a run with every command: the transition, or the reason of the refusal. Contract: state machine. */
import { assert, describe, it } from "@effect/vitest"
import {
  decide,
  ErrorCategory,
  evolve,
  type ExecutionStatus,
  isEnd,
  type RunCommand,
  type RunError,
  type RunEvent,
  type RunState,
  type Tier,
  tiers,
  type WaitKind
} from "../../src/domain/run/Execution.js"
import { Duration } from "effect"

const accepted = 1_000_000
const started = accepted + 5_000
const now = started + 60_000
const until = now + 3_600_000
const ceilingMillis = Duration.toMillis(tiers.standard.ceiling)

const run = (more: Partial<RunState> = {}): RunState => ({
  status: "running",
  tier: "standard",
  attempt: 1,
  waiting: null,
  wakeAt: started,
  startedAt: started,
  deadlineAt: started + ceilingMillis,
  record: { maxAttempts: 1, ceilingMillis },
  ...more
})
const pending = (more: Partial<RunState> = {}) =>
  run({ status: "pending", startedAt: null, wakeAt: null, deadlineAt: accepted + 86_400_000, ...more })

const error = (category: RunError["category"]): RunError => ({
  name: "Error",
  message: "it failed",
  category,
  step: null,
  retryable: category === "transient"
})
const wait = (kind: WaitKind) => ({ kind, step: "timer.set#1", until }) as const

const states = {
  pending: pending(),
  running: run(),
  "running, suspended": run({ waiting: wait("wait"), wakeAt: until }),
  "running, with attempts left": run({ record: { maxAttempts: 2, ceilingMillis } }),
  "running its last attempt": run({ attempt: 2, record: { maxAttempts: 2, ceilingMillis } }),
  completed: run({ status: "completed" }),
  failed: run({ status: "failed" }),
  cancelled: run({ status: "cancelled" }),
  timed_out: run({ status: "timed_out" })
} as const satisfies { readonly [name: string]: RunState }
type StateName = keyof typeof states

const commands = {
  Start: { _tag: "Start", at: now },
  Suspend: { _tag: "Suspend", at: now, waiting: wait("wait") },
  Resume: { _tag: "Resume", at: now },
  Succeed: { _tag: "Succeed" },
  "Fail for good": { _tag: "Fail", error: error("code") },
  "Fail for now": { _tag: "Fail", error: error("transient") },
  Cancel: { _tag: "Cancel" },
  PassDeadline: { _tag: "PassDeadline" }
} as const satisfies { readonly [name: string]: RunCommand }
type CommandName = keyof typeof commands

const refused = (reason: string) => `refused: ${reason}`
const begun = {
  Start: refused("already_started"),
  Suspend: "Suspended",
  Resume: "Resumed",
  Succeed: "completed",
  "Fail for good": "failed",
  "Fail for now": "failed",
  Cancel: "cancelled",
  PassDeadline: "timed_out"
} as const
const ended = Object.fromEntries(Object.keys(commands).map((name) => [name, refused("ended")]))

/** By state and command: the resulting transition or status, or the reason of the refusal. */
const table: { readonly [State in StateName]: { readonly [command: string]: string } } = {
  pending: {
    Start: "Started",
    Suspend: refused("not_started"),
    Resume: refused("not_started"),
    Succeed: refused("not_started"),
    "Fail for good": refused("not_started"),
    "Fail for now": refused("not_started"),
    Cancel: "cancelled",
    PassDeadline: "timed_out: queue_timeout"
  },
  running: begun,
  "running, suspended": begun,
  "running, with attempts left": { ...begun, "Fail for now": "RetryScheduled" },
  "running its last attempt": begun,
  completed: ended,
  failed: ended,
  cancelled: ended,
  timed_out: ended
}

const told = (state: RunState, command: RunCommand): string => {
  const event = decide(state, command)
  if (event._tag === "Refused") {
    assert.strictEqual(event.status, state.status)
    return refused(event.reason)
  }
  if (!isEnd(event)) return event._tag
  return event.statusReason === null ? event.status : `${event.status}: ${event.statusReason}`
}

// The keys of the object above.
const commandNames = Object.keys(commands) as ReadonlyArray<CommandName>
const stateNames = Object.keys(states) as ReadonlyArray<StateName>

describe("decide", () => {
  for (const state of stateNames)
    describe(`of a run that is ${state}`, () => {
      for (const command of commandNames)
        it(`${command} is ${table[state][command]}`, () =>
          assert.strictEqual(told(states[state], commands[command]), table[state][command]))
    })

  it("does not mutate its state", () => {
    for (const state of stateNames)
      for (const command of commandNames) {
        const before = structuredClone(states[state])
        decide(states[state], commands[command])
        assert.deepStrictEqual(states[state], before)
      }
  })

  it("retries transient failures only, and no more often than the policy allows", () => {
    const categories = ErrorCategory.literals
    const retried = (attempt: number) =>
      categories.filter(
        (category) =>
          decide(run({ attempt, record: { maxAttempts: 3, ceilingMillis } }), { _tag: "Fail", error: error(category) })
            ._tag === "RetryScheduled"
      )
    assert.deepStrictEqual([1, 2, 3].map(retried), [["transient"], ["transient"], []])
  })
})

const move = (state: RunState, command: RunCommand): RunState => {
  const event: RunEvent | { readonly _tag: "Refused" } = decide(state, command)
  if (event._tag === "Refused" || isEnd(event)) return assert.fail(`${command._tag} is ${event._tag}`)
  return evolve(state, event)
}

describe("evolve", () => {
  it("starts the time of a Standard or Long run when it starts", () => {
    for (const tier of ["standard", "long"] as const)
      assert.deepStrictEqual(
        move(pending({ tier }), { _tag: "Start", at: now }),
        pending({ tier, status: "running", startedAt: now, wakeAt: now, deadlineAt: now + ceilingMillis })
      )
  })

  it("counts the time of an Instant run from its acceptance", () => {
    const deadlineAt = accepted + 30_000
    assert.deepStrictEqual(
      move(pending({ tier: "instant", deadlineAt }), { _tag: "Start", at: now }),
      pending({ tier: "instant", status: "running", startedAt: now, wakeAt: now, deadlineAt })
    )
  })

  it("moves the deadline by waits that do not count towards the ceiling, and by no others", () => {
    const extended = (tier: Tier, kind: WaitKind) =>
      move(run({ tier }), { _tag: "Suspend", at: now, waiting: wait(kind) }).deadlineAt - run().deadlineAt
    for (const kind of ["wait", "retry", "rate_limit", "connection"] as const)
      assert.deepStrictEqual(
        (["instant", "standard", "long"] as const).map((tier) => extended(tier, kind)),
        [0, until - now, 0],
        kind
      )
    assert.strictEqual(extended("standard", "approval"), 0)
  })

  it("a wait whose time has passed does not shorten the deadline", () => {
    const waiting = { ...wait("wait"), until: now - 1 }
    assert.strictEqual(move(run(), { _tag: "Suspend", at: now, waiting }).deadlineAt, run().deadlineAt)
  })

  it("suspends and resumes: only the deadline and the claim's time stay changed", () => {
    const asleep = move(run(), { _tag: "Suspend", at: now, waiting: wait("rate_limit") })
    assert.deepStrictEqual([asleep.waiting, asleep.wakeAt, asleep.status], [wait("rate_limit"), until, "running"])
    assert.deepStrictEqual(
      move(asleep, { _tag: "Resume", at: until }),
      run({ deadlineAt: asleep.deadlineAt, wakeAt: until })
    )
  })

  it("counts the attempt that a retry begins", () => {
    const before = run({ record: { maxAttempts: 2, ceilingMillis } })
    assert.deepStrictEqual(move(before, { _tag: "Fail", error: error("transient") }), { ...before, attempt: 2 })
  })

  it("leaves a run unfinished, so that it can be cancelled, but not after its end", () => {
    const unfinished: ReadonlyArray<ExecutionStatus> = ["pending", "running"]
    for (const state of stateNames)
      for (const command of commandNames) {
        const event = decide(states[state], commands[command])
        if (event._tag === "Refused") continue
        if (isEnd(event)) assert.strictEqual(told(run({ status: event.status }), { _tag: "Cancel" }), refused("ended"))
        else assert.include(unfinished, evolve(states[state], event).status)
      }
  })
})
