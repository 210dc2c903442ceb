/** The life cycle of runs on one node: start, suspend, resume, end, loss and takeover. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, DateTime, Duration, Effect, Exit, Fiber, Layer, Option, TestClock } from "effect"
import { LiveRuns } from "../../src/actors/execution/LiveRuns.js"
import { Executions } from "../../src/actors/ports/run/Executions.js"
import type { AuditEntry } from "../../src/domain/audit/Audit.js"
import { defaultRetryPolicy } from "../../src/domain/run/Execution.js"
import { isObject, type Json } from "../../src/domain/Json.js"
import type { ExecutionId, OrganisationId } from "../../src/domain/Ids.js"
import { poisonAfter } from "../../src/domain/Limits.js"
import { executionId, organisation } from "../support/journal.js"
import { makeRunWorld, passUntil, request, runnable } from "../support/runWorld.js"
import { call, type Guest } from "../support/scriptedSandbox.js"

const get = (path: string) => call("fetch", { url: `https://acme.test/${path}` })
const bodyOf = (answer: Json): Json => (isObject(answer) ? (answer["body"] ?? null) : null)

const twoCalls: Guest = function* () {
  const a = bodyOf(yield get("a"))
  const b = bodyOf(yield get("b"))
  return [a, b]
}
const bodies = ["https://acme.test/a", "https://acme.test/b"]
const hangs: Guest = function* () {
  return bodyOf(yield get("hang"))
}
const sleeps: Guest = function* () {
  yield call("timer.sleep", 30_000)
  return bodyOf(yield get("a"))
}

const audit: AuditEntry = {
  id: "aud_01jd0000000000000000000000" as AuditEntry["id"],
  organisationId: organisation,
  at: "2026-01-01T00:00:00.000Z",
  actor: { type: "service_account", id: "key", name: "key", ip: "127.0.0.1", userAgent: null, onBehalfOf: null },
  action: "execution.cancel",
  resource: { type: "execution", id: null, name: null },
  customerId: null,
  outcome: "success",
  requestId: "req",
  changes: [],
  count: 1
}

const now = Effect.map(DateTime.now, DateTime.toEpochMillis)

/** Queues a run, and returns its id. */
const enqueue = Effect.fnUntraced(function* (of = runnable()) {
  const executions = yield* Executions
  const started = yield* executions.start(request(of))
  assert(started._tag === "Accepted")
  return started.run.id
})

const kindsOf = (entries: ReadonlyArray<{ readonly kind: string }>) => entries.map(({ kind }) => kind)

describe("a run", () => {
  it.scoped("makes its calls one after the other and ends with its guest's result", () => {
    const world = makeRunWorld({ guests: { main: twoCalls } })
    return Effect.gen(function* () {
      const executions = yield* Executions
      const started = yield* executions.start(request(runnable({ tier: "instant" })))
      assert(started._tag === "Ended")
      assert.deepStrictEqual([started.end.status, started.end.output], ["completed", bodies])
      assert.deepStrictEqual(world.sent, bodies)
      assert.deepStrictEqual(kindsOf(world.entries(started.end.run.id)), ["start", "done", "done"])
      assert.strictEqual(world.guestHost.openGuests(), 0)
    }).pipe(Effect.provide(world.layer))
  })

  it.scoped("sends a request only after everything before it is committed", () => {
    const world = makeRunWorld({ guests: { main: twoCalls } })
    const committed: Array<ReadonlyArray<string>> = []
    world.onSend.run = () => {
      committed.push(world.changes.flatMap(({ journal = [] }) => journal.map(({ entry }) => entry.kind)))
    }
    return Effect.gen(function* () {
      const executions = yield* Executions
      yield* executions.start(request(runnable({ tier: "instant" })))
      assert.deepStrictEqual(committed, [["start"], ["start", "done"]])
    }).pipe(Effect.provide(world.layer))
  })

  it.scoped("without calls is committed once, at its end", () => {
    const guest: Guest = function* () {
      return 1
    }
    const world = makeRunWorld({ guests: { main: guest } })
    return Effect.gen(function* () {
      const executions = yield* Executions
      yield* executions.start(request(runnable({ tier: "instant" })))
      assert.lengthOf(world.changes, 1)
      assert.strictEqual(world.changes[0]?.end?.status, "completed")
    }).pipe(Effect.provide(world.layer))
  })

  it.scoped("is suspended by a long timer, without a guest meanwhile, and resumes when it is due", () => {
    const world = makeRunWorld({ guests: { main: sleeps } })
    return Effect.gen(function* () {
      const live = yield* LiveRuns
      const id = yield* enqueue()
      const suspended = () => world.runs.get(id)?.waiting?.kind === "wait"
      yield* passUntil(suspended)
      assert.deepStrictEqual([live.size(), world.guestHost.openGuests()], [0, 0])
      const { deadlineAt, startedAt, wakeAt } = world.runs.get(id) ?? assert.fail("gone")
      assert.strictEqual((wakeAt ?? 0) - (startedAt ?? 0), 30_000)
      assert.strictEqual(deadlineAt - (startedAt ?? 0), 900_000 + 30_000)
      yield* TestClock.adjust("29 seconds")
      assert.isTrue(suspended())
      assert.deepStrictEqual(world.sent, [])
      yield* passUntil(() => world.ended.has(id))
      assert.deepStrictEqual(
        [world.ended.get(id)?.status, world.ended.get(id)?.output, world.sent],
        ["completed", bodies[0], [bodies[0]]]
      )
      assert.strictEqual(world.ended.get(id)?.run.epoch, 3)
    }).pipe(Effect.provide(world.layer))
  })

  it.scoped("with a transient failure is retried after its back-off, and fails when no attempt is left", () => {
    const tries: Array<number> = []
    const guest: Guest = function* () {
      tries.push(tries.length)
      throw Object.assign(new Error("busy"), { data: { category: "transient" } })
    }
    const world = makeRunWorld({ guests: { main: guest } })
    return Effect.gen(function* () {
      const retry = { ...defaultRetryPolicy, enabled: true, maxAttempts: 2, jitter: 0 }
      const id = yield* enqueue(runnable({ retry }))
      yield* passUntil(() => world.runs.get(id)?.waiting?.kind === "retry")
      assert.deepStrictEqual([world.runs.get(id)?.attempt, tries.length], [2, 1])
      yield* passUntil(() => world.ended.has(id))
      assert.deepStrictEqual([world.ended.get(id)?.status, tries.length], ["failed", 2])
      assert.strictEqual(world.ended.get(id)?.run.attempt, 2)
    }).pipe(Effect.provide(world.layer))
  })
})

describe("the deadline", () => {
  it.scoped("times a run out, aborts its call, and answers its caller", () => {
    const world = makeRunWorld({ guests: { main: hangs } })
    return Effect.gen(function* () {
      const executions = yield* Executions
      const waiter = yield* Effect.fork(executions.start(request(runnable({ tier: "instant" }))))
      yield* passUntil(() => world.sent.length === 1)
      yield* TestClock.adjust("29 seconds")
      assert.isTrue(Option.isNone(yield* Fiber.poll(waiter)))
      yield* passUntil(() => world.ended.size === 1)
      const started = yield* Fiber.join(waiter)
      assert(started._tag === "Ended")
      assert.deepStrictEqual([started.end.status, started.end.statusReason], ["timed_out", null])
      assert.deepStrictEqual(world.aborted, world.sent)
      assert.strictEqual(world.guestHost.openGuests(), 0)
    }).pipe(Effect.provide(world.layer))
  })

  it.scoped("times out a run that could not start within a day", () => {
    const world = makeRunWorld({ guests: { main: hangs }, slots: 0 })
    return Effect.gen(function* () {
      const id = yield* enqueue()
      const run = world.runs.get(id) ?? assert.fail("gone")
      assert.strictEqual(run.deadlineAt - run.createdAt, Duration.toMillis("1 day"))
      // The day is nearly over.
      world.runs.set(id, { ...run, deadlineAt: (yield* now) + 10_000 })
      yield* TestClock.adjust("9 seconds")
      assert.isFalse(world.ended.has(id))
      yield* passUntil(() => world.ended.has(id))
      assert.deepStrictEqual(
        [world.ended.get(id)?.status, world.ended.get(id)?.statusReason, world.guestHost.started.length],
        ["timed_out", "queue_timeout", 0]
      )
    }).pipe(Effect.provide(world.layer))
  })
})

describe("a cancellation", () => {
  it.scoped("is committed at once, aborts the call in flight, and answers the run's caller", () => {
    const world = makeRunWorld({ guests: { main: hangs } })
    return Effect.gen(function* () {
      const executions = yield* Executions
      const live = yield* LiveRuns
      const waiter = yield* Effect.fork(executions.start(request(runnable({ tier: "instant" }))))
      yield* passUntil(() => world.sent.length === 1)
      const [id] = [...world.runs.keys()]
      const cancelled = yield* executions.cancel(organisation, id ?? assert.fail("no run"), audit)
      assert.strictEqual(cancelled.status, "cancelled")
      assert.strictEqual(world.ended.get(cancelled.run.id)?.status, "cancelled")
      assert.deepStrictEqual([world.aborted, live.size(), world.guestHost.openGuests()], [world.sent, 0, 0])
      const started = yield* Fiber.join(waiter)
      assert.deepStrictEqual([started._tag, started._tag === "Ended" && started.end.status], ["Ended", "cancelled"])
      const again = yield* Effect.exit(executions.cancel(organisation, cancelled.run.id, audit))
      assert.isTrue(Exit.isFailure(again))
    }).pipe(Effect.provide(world.layer))
  })

  it.scoped("of a queued run prevents its start", () => {
    const world = makeRunWorld({ guests: { main: hangs } })
    return Effect.gen(function* () {
      const executions = yield* Executions
      const id = yield* enqueue()
      yield* executions.cancel(organisation, id, audit)
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual([world.ended.get(id)?.status, world.guestHost.started.length], ["cancelled", 0])
    }).pipe(Effect.provide(world.layer))
  })
})

describe("a guest that is lost", () => {
  it.scoped("is replayed: no completed call is repeated, and the run ends with the same result", () => {
    const world = makeRunWorld({ guests: { main: twoCalls } })
    world.onSend.run = (url) => {
      if (url.endsWith("/b")) world.guestHost.losses.push("runnerDied")
    }
    return Effect.gen(function* () {
      const id = yield* enqueue()
      yield* passUntil(() => world.ended.has(id))
      assert.deepStrictEqual([world.ended.get(id)?.status, world.ended.get(id)?.output], ["completed", bodies])
      assert.deepStrictEqual(world.sent, bodies)
      assert.deepStrictEqual(
        world.guestHost.started.map(({ alone }) => alone),
        [false, false]
      )
    }).pipe(Effect.provide(world.layer))
  })

  it.scoped(
    "with the process that worked on it is restarted alone, and fails the run as poisoned after several deaths",
    () => {
      const world = makeRunWorld({ guests: { main: twoCalls } })
      for (let n = 0; n < poisonAfter; n++) world.guestHost.losses.push("diedAtWork")
      return Effect.gen(function* () {
        const id = yield* enqueue()
        yield* passUntil(() => world.ended.has(id))
        const { error, status } = world.ended.get(id) ?? assert.fail("not ended")
        assert.deepStrictEqual([status, isObject(error) && error["code"]], ["failed", "POISONED"])
        assert.deepStrictEqual(
          world.guestHost.started.map(({ alone }) => alone),
          [false, true, true, true, true]
        )
        assert.deepStrictEqual(world.sent, [])
      }).pipe(Effect.provide(world.layer))
    }
  )
})

describe("an organisation at its limit of concurrent runs", () => {
  const full = "org_01jd0000000000000000000002" as OrganisationId
  const other = "org_01jd0000000000000000000003" as OrganisationId

  it.scoped("is skipped until one of its runs ends, and other organisations' runs start meanwhile", () => {
    const world = makeRunWorld({ guests: { main: hangs }, caps: new Map([[full, 2]]) })
    return Effect.gen(function* () {
      const live = yield* LiveRuns
      const executions = yield* Executions
      const ids: Array<ExecutionId> = []
      for (let n = 0; n < 3; n++) ids.push(yield* enqueue(runnable({ organisationId: full })))
      const last = yield* enqueue(runnable({ organisationId: other }))
      yield* passUntil(() => live.size() === 3)
      assert.deepStrictEqual(
        [...live.countByAccount()],
        [
          [full, 2],
          [other, 1]
        ]
      )
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual([live.size(), live.has(last)], [3, true])
      const [first = executionId(), , third = executionId()] = ids
      assert.strictEqual(world.runs.get(third)?.status, "pending")
      yield* executions.cancel(full, first, { ...audit, organisationId: full })
      yield* passUntil(() => world.runs.get(third)?.status === "running")
      assert.strictEqual(live.countByAccount().get(full), 2)
    }).pipe(Effect.provide(world.layer))
  })
})

describe("the queued runs of an organisation at its limit", () => {
  it.scoped("start as soon as others of it end, without a poll of the queue", () => {
    const world = makeRunWorld({ guests: { main: twoCalls }, caps: new Map([[organisation, 2]]) })
    return Effect.gen(function* () {
      for (let n = 0; n < 20; n++) yield* enqueue()
      yield* passUntil(() => world.guestHost.started.length > 0, "1 millis")
      const before = yield* Clock.currentTimeMillis
      yield* passUntil(() => world.ended.size === 20, "1 millis")
      assert.isBelow((yield* Clock.currentTimeMillis) - before, 250)
    }).pipe(Effect.provide(world.layer))
  })
})

describe("the runs of a node that stops", () => {
  it.scoped("are aborted after the grace period, resume on the next from their journal, and count as survived", () => {
    const world = makeRunWorld({ guests: { main: hangs } })
    return Effect.gen(function* () {
      const id = yield* Effect.provide(leaveRunning(world), world.layer)
      assert.deepStrictEqual(world.aborted, world.sent.slice(0, 1))
      yield* Effect.provide(
        Effect.gen(function* () {
          yield* passUntil(() => world.sent.length === 2)
          // Its second activation is taken back, too, once it waits.
          yield* passUntil(() => world.runs.get(id)?.activations === 0)
        }),
        Layer.fresh(world.layer)
      )
      assert.strictEqual(world.runs.get(id)?.status, "running")
      assert.deepStrictEqual(
        world.guestHost.started.map(({ alone }) => alone),
        [false, false]
      )
    })
  })

  it.scoped("make no place for those that wait: they start on the next", () => {
    const world = makeRunWorld({ guests: { main: hangs } })
    return Effect.gen(function* () {
      yield* Effect.provide(
        Effect.gen(function* () {
          yield* leaveRunning(world)
          const { isLeaving, reserve, size } = yield* LiveRuns
          const waiting = yield* enqueue()
          yield* TestClock.adjust("10 seconds")
          assert.deepStrictEqual([isLeaving(), reserve(executionId(), organisation), size()], [true, false, 0])
          assert.strictEqual(world.runs.get(waiting)?.status, "pending")
        }),
        world.layer
      )
      assert.lengthOf(world.sent, 1)
      yield* Effect.provide(
        passUntil(() => world.sent.length === 3),
        Layer.fresh(world.layer)
      )
    })
  })
})

/** Starts a run that hangs in its call, and lets its node leave it. */
const leaveRunning = Effect.fnUntraced(function* (world: ReturnType<typeof makeRunWorld>) {
  const live = yield* LiveRuns
  const id = yield* enqueue()
  yield* passUntil(() => world.sent.length === 1)
  const drained = yield* Effect.fork(live.drain(Duration.seconds(2)))
  yield* TestClock.adjust("1 second")
  assert.strictEqual(live.size(), 1)
  yield* TestClock.adjust("2 seconds")
  yield* Fiber.join(drained)
  return id
})

describe("a slot of a node", () => {
  it.scoped("is reserved once, counts for its organisation, and is free again when it is released", () => {
    const world = makeRunWorld({ guests: {} })
    return Effect.gen(function* () {
      const live = yield* LiveRuns
      const id = executionId()
      assert.deepStrictEqual([live.reserve(id, organisation), live.reserve(id, organisation)], [true, false])
      assert.deepStrictEqual([...live.countByAccount()], [[organisation, 1]])
      live.release(id)
      assert.deepStrictEqual([live.has(id), live.size(), [...live.countByAccount()]], [false, 0, []])
    }).pipe(Effect.provide(world.layer))
  })
})
