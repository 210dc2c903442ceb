/** Grants of a connection: their origin and lifetime, and the effects of the provider's refusals and limits. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, TestClock } from "effect"
import { makeOwnPermits } from "../../src/actors/connection/SharedPermits.js"
import type { GrantAnswer } from "../../src/actors/ports/connection/Connections.js"
import type { ConnectionId } from "../../src/domain/Ids.js"
import { limitTable } from "../support/limitTable.js"
import { readGrant } from "../../src/domain/connection/Grant.js"
import { freshTokens, makeWorld, manifest, organisation, origin } from "../support/connectionWorld.js"

/** Runs everything that is ready, without advancing the clock. */
const settle = Effect.forEach(Array.from({ length: 50 }), () => Effect.yieldNow(), { discard: true })

const granted = (answer: GrantAnswer) => (answer._tag === "Granted" ? answer : assert.fail(answer._tag))

describe("a grant", () => {
  it.scoped("is for one of the connector's origins, and expires within a minute", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ answer: () => Effect.never })
      const id = yield* world.connected(null)
      const answer = yield* world.authorize(id)
      assert.strictEqual(answer._tag, "Granted")
      if (answer._tag !== "Granted") return
      assert.strictEqual((readGrant(answer.grant)?.expiresAt ?? 0) - (yield* world.now), 60_000)
      const actor = yield* world.client(id)
      const elsewhere = {
        organisationId: organisation,
        origin: "https://evil.example",
        executionId: null,
        timeoutMillis: 1_000
      }
      for (const request of [elsewhere, { ...elsewhere, anyOrigin: false }])
        assert.strictEqual((yield* Effect.flip(actor.Authorize(request)))._tag, "ValidationFailed")
      // Of a caller that may read the credential.
      assert.strictEqual((yield* actor.Authorize({ ...elsewhere, anyOrigin: true }))._tag, "Granted")
    })
  )

  it.scoped("for another organisation's connection is refused as for one that does not exist", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ answer: () => Effect.never })
      const id = yield* world.connected(null)
      const ask = (which: string) =>
        Effect.flatMap(world.client(which), (actor) =>
          Effect.flip(
            actor.Authorize({
              organisationId: "org_00000000000000000000000002",
              origin,
              executionId: null,
              timeoutMillis: 1_000
            })
          )
        )
      assert.deepStrictEqual(yield* ask(id), yield* ask("conn_00000000000000000000000000"))
    })
  )
})

describe("a token that cannot be refreshed", () => {
  it.scoped("expires its connection when it expires", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ answer: () => Effect.never })
      const id = yield* world.connected(3_600, null)
      yield* TestClock.adjust("3599 seconds")
      assert.strictEqual((yield* world.authorize(id))._tag, "Granted")
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Effect.flip(world.authorize(id)))._tag, "ConnectionNotActive")
      assert.strictEqual(world.row(id).connection.status, "expired")
    })
  )
})

describe("a credential that the provider refuses", () => {
  const settled = (id: string, world: Effect.Effect.Success<ReturnType<typeof makeWorld>>, status: number) =>
    Effect.gen(function* () {
      const { permit } = granted(yield* world.authorize(id))
      const actor = yield* world.client(id)
      yield* actor.Settle({ organisationId: organisation, permit, status, reading: null })
    })

  it.scoped("fails after two refusals in a row, and not after one", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ answer: () => Effect.never })
      const id = yield* world.connected(null, null)
      yield* settled(id, world, 401)
      yield* settled(id, world, 200)
      yield* settled(id, world, 401)
      assert.strictEqual(world.row(id).connection.status, "active")
      yield* settled(id, world, 401)
      assert.strictEqual(world.row(id).connection.status, "failed")
      assert.deepStrictEqual(world.types(), ["created", "failed"])
    })
  )

  it.scoped("is judged by refusals alone, also by an owner that knows nothing of the connection yet", () =>
    Effect.gen(function* () {
      const reading = { limit: null, remaining: null, resetAt: null, retryAfterAt: null }
      const others = [...[200, 204, 403, 404, 429, 500].map((status) => ({ status })), { status: 401, final: true }]
      for (const refreshToken of ["refresh-0", null]) {
        const world = yield* makeWorld({ answer: (_, n) => Effect.succeed(freshTokens(n)) })
        const id = yield* world.connected(null, refreshToken)
        yield* TestClock.adjust("2 minutes")
        const { permit } = granted(yield* world.authorize(id))
        for (const answer of others) {
          const actor = yield* Effect.flatMap(world.node, (next) => next(id))
          const sent = { organisationId: organisation, permit, reading, ...answer }
          // Before it has granted a call, it must read the connector for each.
          yield* Effect.all([actor.Settle(sent), actor.Settle(sent), actor.Settle(sent)], { concurrency: "unbounded" })
        }
        yield* settle
        assert.lengthOf(world.asked, 0)
        assert.strictEqual(world.row(id).connection.status, "active")
      }
    })
  )

  it.scoped("is refreshed first if that is possible", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ answer: (_, n) => Effect.succeed(freshTokens(n)) })
      const id = yield* world.connected(null)
      yield* TestClock.adjust("2 minutes")
      yield* settled(id, world, 401)
      yield* settle
      assert.lengthOf(world.asked, 1)
      assert.strictEqual(world.row(id).connection.status, "active")
      yield* settled(id, world, 401)
      yield* settled(id, world, 401)
      assert.strictEqual(world.row(id).connection.status, "failed")
    })
  )
})

describe("the provider's rate limit", () => {
  it.scoped("tells callers when to retry, and never makes them wait", () =>
    Effect.gen(function* () {
      const limited = manifest({}, { rateLimit: { requests: 2, perSeconds: 10 } })
      const world = yield* makeWorld({ answer: () => Effect.never, manifest: limited })
      const id = yield* world.connected(null)
      const tags: Array<string> = []
      for (let i = 0; i < 3; i++) tags.push((yield* world.authorize(id))._tag)
      assert.deepStrictEqual(tags, ["Granted", "Granted", "WaitUntil"])
      yield* TestClock.adjust("11 seconds")
      assert.strictEqual((yield* world.authorize(id))._tag, "Granted")
    })
  )

  it.scoped("holds when the connection gets a new owner, which grants what the former one left", () =>
    Effect.gen(function* () {
      const limited = manifest({}, { rateLimit: { requests: 5, perSeconds: 10 } })
      const world = yield* makeWorld({ answer: () => Effect.never, manifest: limited })
      const id = yield* world.connected(null)
      for (let i = 0; i < 3; i++) assert.strictEqual((yield* world.authorize(id))._tag, "Granted")
      const next = yield* world.node
      assert.strictEqual((yield* world.authorize(id, next))._tag, "WaitUntil", "the former owner may grant them yet")
      yield* TestClock.adjust("1 seconds")
      const tags: Array<string> = []
      for (let i = 0; i < 3; i++) tags.push((yield* world.authorize(id, next))._tag)
      assert.deepStrictEqual(tags, ["Granted", "Granted", "WaitUntil"])
      yield* TestClock.adjust("8 seconds")
      assert.strictEqual((yield* world.authorize(id, next))._tag, "WaitUntil")
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual((yield* world.authorize(id, next))._tag, "Granted")
    })
  )

  it.scoped("counts the calls in flight of a former owner, each until its own permit is returned", () =>
    Effect.gen(function* () {
      const limited = manifest({}, { rateLimit: { perSeconds: 1, concurrency: 2 } })
      const world = yield* makeWorld({ answer: () => Effect.never, manifest: limited })
      const id = yield* world.connected(null)
      const former = yield* world.authorize(id)
      const next = yield* world.node
      const own = yield* world.authorize(id, next)
      assert.deepStrictEqual([former._tag, own._tag], ["Granted", "Granted"])
      if (former._tag !== "Granted") return
      yield* TestClock.adjust("50 seconds")
      assert.strictEqual((yield* world.authorize(id, next))._tag, "WaitUntil")
      const last = yield* world.node
      const settled = { organisationId: organisation, permit: former.permit, status: 200, reading: null }
      // Once for each time that it is sent: a message may be repeated.
      for (let n = 0; n < 2; n++) yield* Effect.flatMap(last(id), (actor) => actor.Settle(settled))
      yield* TestClock.adjust("1 seconds")
      assert.strictEqual((yield* world.authorize(id, last))._tag, "Granted")
      assert.strictEqual((yield* world.authorize(id, last))._tag, "WaitUntil")
    })
  )

  it.scoped("is stored once for many calls", () =>
    Effect.gen(function* () {
      const { counted, windows } = limitTable()
      const own = makeOwnPermits(windows, () => "l", yield* Effect.scope)
      const limits = { requests: 1_000, perMillis: 60_000, concurrency: null }
      const permits = own(organisation, "conn_00000000000000000000000001" as ConnectionId, limits)
      for (let n = 0; n < 16; n++) {
        if (permits.take(yield* Clock.currentTimeMillis) === undefined) yield* permits.fetch(1_000)
        yield* TestClock.adjust("100 millis")
      }
      assert.strictEqual(counted.saves, 1)
    })
  )
})
