/** One refresh for any number of callers; at most two when an owner dies; never a loop, and the state says why. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Exit, Fiber, Option, Redacted, TestClock } from "effect"
import { makeActorClient } from "../../src/actors/connection/ActorClient.js"
import { initiator, failedAnswer, freshTokens, makeWorld, manifest, organisation } from "../support/connectionWorld.js"

const hour = Duration.hours(1)
/** Within the refresh margin of a token of an hour, which is twelve minutes. */
const due = Duration.minutes(50)

const refreshTokenOf = (request: { readonly grant: { readonly type: string } }) =>
  "refreshToken" in request.grant && Redacted.isRedacted(request.grant.refreshToken)
    ? Redacted.value(request.grant.refreshToken)
    : undefined

/** Runs everything that is ready, without advancing the clock. */
const settle = Effect.forEach(Array.from({ length: 50 }), () => Effect.yieldNow(), { discard: true })

describe("at the instant of expiry", () => {
  it.scoped("a thousand callers cause one token request, and all are served, however long it takes", () =>
    Effect.gen(function* () {
      for (const latency of ["10 millis", "15 seconds"] as const) {
        const world = yield* makeWorld({ answer: (_, n) => Effect.delay(Effect.succeed(freshTokens(n)), latency) })
        const id = yield* world.connected()
        yield* TestClock.adjust(hour)
        const before = world.loads()
        const callers = yield* Effect.fork(
          Effect.forEach(Array.from({ length: 1_000 }), () => world.authorize(id), { concurrency: "unbounded" })
        )
        yield* settle
        yield* TestClock.adjust(latency)
        const answers = yield* Fiber.join(callers)
        assert.isTrue(answers.every(({ _tag }) => _tag === "Granted"))
        assert.strictEqual(world.loads() - before, 1, "an owner that has nothing in memory reads once for all")
        assert.lengthOf(world.asked, 1)
        assert.strictEqual(refreshTokenOf(world.asked[0] ?? assert.fail()), "refresh-0")
      }
    })
  )

  it.scoped("callers whose token is valid for thirty more seconds do not wait for the refresh", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ answer: () => Effect.never })
      const id = yield* world.connected()
      yield* TestClock.adjust(due)
      assert.strictEqual((yield* world.authorize(id))._tag, "Granted")
      yield* settle
      assert.lengthOf(world.asked, 1)
      yield* TestClock.adjust(Duration.minutes(9))
      assert.strictEqual((yield* world.authorize(id))._tag, "Granted", "a minute is enough")
      assert.lengthOf(world.asked, 1)
    })
  )

  it.scoped("who decides to refresh a token that is answered for meanwhile sends no second request", () =>
    Effect.gen(function* () {
      const command = { organisationId: organisation, by: initiator }
      for (const answer of [(n: number) => Effect.succeed(freshTokens(n)), () => failedAnswer(503)])
        for (const ask of ["authorize", "checkDue", "refresh"] as const) {
          const gate = yield* Deferred.make<void>()
          let slow = 0
          const world = yield* makeWorld({
            answer: (_, n) => answer(n),
            reading: Effect.suspend(() => (slow-- > 0 ? Deferred.await(gate) : Effect.void))
          })
          const id = yield* world.connected()
          const actor = makeActorClient(yield* world.client(id))
          yield* TestClock.adjust(hour)
          slow = 1
          const late = yield* Effect.fork(
            Effect.exit<unknown, unknown, never>(ask === "authorize" ? world.authorize(id) : actor[ask](command))
          )
          yield* settle
          assert.strictEqual(slow, 0, "it has read the old token and waits for the connector")
          yield* world.authorize(id)
          assert.lengthOf(world.asked, 1)
          yield* Deferred.succeed(gate, undefined)
          yield* Fiber.join(late)
          assert.lengthOf(world.asked, 1, ask)
        }
    })
  )

  it.scoped("a connection can be ended while a slow provider answers", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ answer: () => Effect.never })
      const id = yield* world.connected()
      yield* TestClock.adjust(hour)
      yield* Effect.fork(world.authorize(id))
      yield* settle
      const actor = yield* world.client(id)
      yield* makeActorClient(actor).disconnect({ organisationId: organisation, by: initiator, version: null })
      assert.strictEqual(world.row(id).connection.status, "disconnected")
      assert.isNull(world.row(id).credential)
    })
  )

  it.scoped("the answer to a refresh that a disconnect has overtaken is dropped", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const world = yield* makeWorld({ answer: (_, n) => Effect.as(Deferred.await(gate), freshTokens(n)) })
      const id = yield* world.connected()
      yield* TestClock.adjust(hour)
      const caller = yield* Effect.fork(Effect.exit(world.authorize(id)))
      yield* settle
      yield* makeActorClient(yield* world.client(id)).disconnect({
        organisationId: organisation,
        by: initiator,
        version: null
      })
      yield* Deferred.succeed(gate, undefined)
      assert.isTrue(Exit.isFailure(yield* Fiber.join(caller)))
      assert.isNull(world.row(id).credential)
    })
  )
})

describe("a provider", () => {
  it.scoped("that rotates and ends the grant on a reused token stays connected through a hundred expiries", () =>
    Effect.gen(function* () {
      let valid = "refresh-0"
      const world = yield* makeWorld({
        answer: (request, n) => {
          if (refreshTokenOf(request) !== valid) {
            valid = "none"
            return failedAnswer(400, "invalid_grant")
          }
          valid = `refresh-${n}`
          return Effect.succeed(freshTokens(n))
        }
      })
      const id = yield* world.connected()
      for (let n = 1; n <= 100; n++) {
        yield* TestClock.adjust(hour)
        const answers = yield* Effect.all([world.authorize(id), world.authorize(id), world.authorize(id)], {
          concurrency: "unbounded"
        })
        assert.isTrue(answers.every(({ _tag }) => _tag === "Granted"))
        assert.lengthOf(world.asked, n)
      }
      assert.strictEqual(world.row(id).connection.status, "active")
    })
  )

  it.scoped("that sends no new refresh token keeps its old one", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ answer: (_, n) => Effect.succeed({ ...freshTokens(n), refreshToken: null }) })
      const id = yield* world.connected()
      for (let n = 0; n < 3; n++) {
        yield* TestClock.adjust(hour)
        assert.strictEqual((yield* world.authorize(id))._tag, "Granted")
      }
      assert.deepStrictEqual(world.asked.map(refreshTokenOf), ["refresh-0", "refresh-0", "refresh-0"])
    })
  )

  it.scoped(
    "that is down gets retries after 30 s, 2 min, 10 min and 30 min, while the old token is used until its expiry",
    () =>
      Effect.gen(function* () {
        const world = yield* makeWorld({ answer: () => failedAnswer(503) })
        const id = yield* world.connected()
        yield* TestClock.adjust(due)
        const times: Array<number> = []
        const from = yield* world.now
        let seen = 0
        for (let second = 0; second < 3_000; second += 5) {
          const answer = yield* world.authorize(id)
          yield* settle
          if (world.asked.length > seen) times.push(((yield* world.now) - from) / 1_000)
          seen = world.asked.length
          // The token expires ten minutes after its refresh is due.
          assert.strictEqual(answer._tag, second < 600 ? "Granted" : "WaitUntil")
          yield* TestClock.adjust("5 seconds")
        }
        assert.deepStrictEqual(times, [0, 30, 150, 750, 2_550])
        const { health, status } = world.row(id).connection
        assert.deepStrictEqual([status, health.state], ["active", "degraded"])
        assert.deepStrictEqual(world.types(), ["created", "refresh_failed"])
      })
  )

  it.scoped("that stays down for four days loses the connection", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ answer: () => failedAnswer(null) })
      const id = yield* world.connected()
      yield* TestClock.adjust(hour)
      for (let i = 0; i < 4 * 48 + 10; i++) {
        yield* Effect.exit(world.authorize(id))
        yield* settle
        yield* TestClock.adjust("31 minutes")
      }
      assert.strictEqual(world.row(id).connection.status, "expired")
      assert.isAtMost(world.asked.length, 4 * 48 + 5)
      assert.deepStrictEqual(world.types(), ["created", "refresh_failed", "expired"])
    })
  )

  it.scoped.each(["invalid_grant", "unauthorized_client", "access_denied"])(
    "that answers %s ends it at once, with the reason",
    (code) =>
      Effect.gen(function* () {
        const world = yield* makeWorld({ answer: () => failedAnswer(400, code) })
        const id = yield* world.connected()
        yield* TestClock.adjust(hour)
        const answer = yield* Effect.flip(world.authorize(id))
        assert.strictEqual(answer._tag, "ConnectionNotActive")
        yield* Effect.exit(world.authorize(id))
        assert.lengthOf(world.asked, 1)
        const { health, status } = world.row(id).connection
        assert.strictEqual(status, "expired")
        assert.include(health.lastError ?? "", code)
      })
  )
})

describe("an owner that dies", () => {
  /** Its fiber stops forever at the kill point, as that of a killed process. */
  const dying = (point: string, answer: Parameters<typeof makeWorld>[0]["answer"], refresh: object = {}) => {
    let deaths = 1
    return makeWorld({
      answer,
      manifest: manifest(refresh),
      at: (passed) => (passed === point && deaths-- > 0 ? Effect.never : Effect.void)
    })
  }

  it.scoped(
    "before its request: the next owner sends one request, after the dead one's time, and all callers are served",
    () =>
      Effect.gen(function* () {
        const world = yield* dying("intentWritten", (_, n) => Effect.succeed(freshTokens(n)))
        const id = yield* world.connected()
        yield* TestClock.adjust(hour)
        yield* Effect.fork(world.authorize(id))
        yield* settle
        const next = yield* world.node
        const callers = yield* Effect.fork(
          Effect.forEach(Array.from({ length: 100 }), () => world.authorize(id, next), { concurrency: "unbounded" })
        )
        yield* settle
        yield* TestClock.adjust("22 seconds")
        assert.lengthOf(world.asked, 0, "the dead one may still be asking")
        yield* TestClock.adjust("2 seconds")
        assert.isTrue((yield* Fiber.join(callers)).every(({ _tag }) => _tag === "Granted"))
        assert.lengthOf(world.asked, 1)
        assert.strictEqual(world.row(id).connection.status, "active")
      })
  )

  it.scoped(
    "before it commits the answer: one more request, which serves all callers if the provider does not rotate tokens",
    () =>
      Effect.gen(function* () {
        const world = yield* dying("tokenReceived", (_, n) => Effect.succeed({ ...freshTokens(n), refreshToken: null }))
        const id = yield* world.connected()
        yield* TestClock.adjust(hour)
        yield* Effect.fork(world.authorize(id))
        yield* settle
        assert.lengthOf(world.asked, 1)
        const next = yield* world.node
        const caller = yield* Effect.fork(world.authorize(id, next))
        yield* settle
        yield* TestClock.adjust("24 seconds")
        assert.strictEqual((yield* Fiber.join(caller))._tag, "Granted")
        assert.lengthOf(world.asked, 2)
      })
  )

  it.scoped("before it commits the answer of a provider that rotates: expired with the reason, never a loop", () =>
    Effect.gen(function* () {
      const world = yield* dying("tokenReceived", (_, n) =>
        n === 1 ? Effect.succeed(freshTokens(1)) : failedAnswer(400, "invalid_grant")
      )
      const id = yield* world.connected()
      yield* TestClock.adjust(hour)
      yield* Effect.fork(world.authorize(id))
      yield* settle
      const next = yield* world.node
      const caller = yield* Effect.fork(Effect.exit(world.authorize(id, next)))
      yield* settle
      yield* TestClock.adjust("24 seconds")
      assert.isTrue(Exit.isFailure(yield* Fiber.join(caller)))
      for (let i = 0; i < 5; i++) yield* Effect.exit(world.authorize(id, yield* world.node))
      assert.lengthOf(world.asked, 2)
      const { health, status } = world.row(id).connection
      assert.strictEqual(status, "expired")
      assert.include(health.lastError ?? "", "invalid_grant")
      assert.deepStrictEqual(world.types(), ["created", "expired"])
    })
  )

  it.scoped("and its successor as well: no third request is sent", () =>
    Effect.gen(function* () {
      let deaths = 2
      const world = yield* makeWorld({
        answer: (_, n) => Effect.succeed(freshTokens(n)),
        at: (point) => (point === "tokenReceived" && deaths-- > 0 ? Effect.never : Effect.void)
      })
      const id = yield* world.connected()
      yield* TestClock.adjust(hour)
      yield* Effect.fork(world.authorize(id))
      yield* settle
      yield* Effect.fork(world.authorize(id, yield* world.node))
      yield* settle
      yield* TestClock.adjust("24 seconds")
      assert.lengthOf(world.asked, 2)
      const third = yield* Effect.fork(Effect.exit(world.authorize(id, yield* world.node)))
      yield* settle
      yield* TestClock.adjust("24 seconds")
      assert.isTrue(Exit.isFailure(yield* Fiber.join(third)))
      assert.lengthOf(world.asked, 2)
      assert.strictEqual(world.row(id).connection.status, "expired")
      assert.include(world.row(id).connection.health.lastError ?? "", "stopped twice")
    })
  )

  it.scoped("only apparently: the slow owner's commit is used, and no second request is sent", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ answer: (_, n) => Effect.delay(Effect.succeed(freshTokens(n)), "15 seconds") })
      const id = yield* world.connected()
      yield* TestClock.adjust(hour)
      const first = yield* Effect.fork(world.authorize(id))
      yield* settle
      const second = yield* Effect.fork(world.authorize(id, yield* world.node))
      yield* settle
      yield* TestClock.adjust("16 seconds")
      assert.strictEqual((yield* Fiber.join(first))._tag, "Granted")
      assert.strictEqual((yield* Fiber.join(second))._tag, "Granted")
      assert.lengthOf(world.asked, 1)
    })
  )

  it.scoped(
    "or loses its shard in the middle gives it up at once; its answer serves the callers of the next owner",
    () =>
      Effect.gen(function* () {
        const world = yield* makeWorld({ answer: (_, n) => Effect.delay(Effect.succeed(freshTokens(n)), "15 seconds") })
        const id = yield* world.connected()
        yield* TestClock.adjust(hour)
        yield* Effect.fork(world.authorize(id))
        yield* settle
        assert.lengthOf(world.asked, 1)
        const closing = yield* Effect.fork(world.endActor(id))
        yield* settle
        assert.isTrue(Option.isSome(yield* Fiber.poll(closing)), "the shard is not held for the provider")
        const next = yield* Effect.fork(world.authorize(id, yield* world.node))
        yield* settle
        yield* TestClock.adjust("16 seconds")
        assert.strictEqual((yield* Fiber.join(next))._tag, "Granted")
        assert.lengthOf(world.asked, 1)
      })
  )

  it.scoped(
    "or sleeps more than two seconds between intent and request sends none before it has committed another",
    () =>
      Effect.gen(function* () {
        let slept = false
        let requests = 0
        const intended: Array<number> = []
        const world = yield* makeWorld({
          answer: (_, n) => Effect.succeed(freshTokens((requests = n))),
          intended: Effect.sync(() => void intended.push(requests)),
          at: (point) =>
            point === "intentWritten" && !slept
              ? Effect.zipRight(
                  Effect.sync(() => (slept = true)),
                  Effect.sleep("3 seconds")
                )
              : Effect.void
        })
        const id = yield* world.connected()
        yield* TestClock.adjust(hour)
        const caller = yield* Effect.fork(world.authorize(id))
        yield* settle
        yield* TestClock.adjust("4 seconds")
        assert.strictEqual((yield* Fiber.join(caller))._tag, "Granted")
        assert.lengthOf(world.asked, 1)
        assert.deepStrictEqual(intended, [0, 0, 0], "the first, which it gives back, and one more before the request")
      })
  )
})
