/** What a token endpoint has issued is stored once the database answers, however long that takes, and by nobody twice. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Redacted, TestClock } from "effect"
import { makeActorClient } from "../../src/actors/connection/ActorClient.js"
import type { FaultPoint } from "../../src/actors/ports/Faults.js"
import { Unavailable } from "../../src/domain/Failure.js"
import {
  failedAnswer,
  freshTokens,
  initiator,
  makeWorld,
  organisation,
  type WorldOptions
} from "../support/connectionWorld.js"

const hour = Duration.hours(1)

/** Runs everything that is ready, without advancing the clock. */
const settle = Effect.forEach(Array.from({ length: 50 }), () => Effect.yieldNow(), { discard: true })

/** A database that a test takes away. */
const makeDatabase = () => {
  const state = { isAway: false }
  const database = Effect.suspend(() =>
    state.isAway ? new Unavailable({ reason: "it restarts", retryAfterSeconds: 1 }) : Effect.void
  )
  return { state, database }
}

/** Takes the database away when the first answer of the token endpoint is there. */
const goneOnce = (state: { isAway: boolean }) => {
  let answers = 0
  return (point: FaultPoint) =>
    Effect.sync(() => {
      if (point === "tokenReceived" && (answers += 1) === 1) state.isAway = true
    })
}

/** A provider that ends the grant where a spent refresh token is used again. */
const makeRotatingProvider = () => {
  let valid = "refresh-0"
  return (request: { readonly grant: object }, n: number) => {
    const sent = "refreshToken" in request.grant ? request.grant.refreshToken : undefined
    if (!Redacted.isRedacted(sent) || Redacted.value(sent) !== valid) {
      valid = "none"
      return failedAnswer(400, "invalid_grant")
    }
    valid = `refresh-${n}`
    return Effect.succeed(freshTokens(n))
  }
}

/** A connection whose new tokens the database has not taken: a process that ends now leaves them in a file. */
const loseAnswer = (options: Partial<WorldOptions> = {}) =>
  Effect.gen(function* () {
    const { database, state } = makeDatabase()
    const world = yield* makeWorld({ database, answer: makeRotatingProvider(), at: goneOnce(state), ...options })
    const id = yield* world.connected()
    yield* TestClock.adjust(hour)
    const caller = yield* Effect.fork(world.authorize(id))
    yield* settle
    yield* TestClock.adjust("5 seconds")
    const [kept] = world.files.values()
    return { world, state, id, caller, kept: kept ?? assert.fail("no file was written") }
  })

describe("tokens that are issued while the database is away", () => {
  it.scoped("are kept by their owner for as long as it takes, and no second request is sent", () =>
    Effect.gen(function* () {
      const { caller, id, state, world } = yield* loseAnswer()
      yield* TestClock.adjust("10 minutes")
      assert.lengthOf(world.asked, 1)
      state.isAway = false
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual((yield* Fiber.join(caller))._tag, "Granted")
      assert.lengthOf(world.asked, 1)
      assert.strictEqual(world.row(id).credential?.number, 2)
      assert.isNull(world.row(id).intent)
      assert.strictEqual(world.files.size, 0)
    })
  )

  it.scoped("are stored after changes of the connection that were made meanwhile", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const world = yield* makeWorld({ answer: (_, n) => Effect.as(Deferred.await(gate), freshTokens(n)) })
      const id = yield* world.connected()
      yield* TestClock.adjust(hour)
      const caller = yield* Effect.fork(world.authorize(id))
      yield* settle
      const actor = makeActorClient(yield* world.client(id))
      yield* actor.edit({
        organisationId: organisation,
        by: initiator,
        version: null,
        label: "renamed",
        tags: null,
        isDefault: false
      })
      assert.isNotNull(world.row(id).intent, "who owns it next must wait for the request")
      yield* Deferred.succeed(gate, undefined)
      assert.strictEqual((yield* Fiber.join(caller))._tag, "Granted")
      assert.strictEqual(world.row(id).connection.label, "renamed")
      assert.strictEqual(world.row(id).credential?.number, 2)
    })
  )

  it.scoped("are waited for by other nodes while the process that has them runs", () =>
    Effect.gen(function* () {
      const { id, state, world } = yield* loseAnswer({ running: new Set(["node-1", "node-2"]) })
      const next = yield* world.node
      yield* TestClock.adjust("2 minutes")
      // The database is back, and the other node is the first that it serves.
      const gate = yield* Deferred.make<void>()
      state.isAway = false
      const waiting = yield* Effect.fork(Effect.zipRight(Deferred.await(gate), world.authorize(id, next)))
      yield* Deferred.succeed(gate, undefined)
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* Fiber.join(waiting))._tag, "Granted")
      assert.lengthOf(world.asked, 1)
      assert.strictEqual(world.row(id).connection.status, "active")
    })
  )

  it.scoped("are waited for by another node for twenty seconds after it misses the process", () =>
    Effect.gen(function* () {
      const running = new Set(["node-1", "node-2"])
      let answers = 0
      const world = yield* makeWorld({
        running,
        answer: (_, n) => Effect.succeed({ ...freshTokens(n), refreshToken: null }),
        at: (point) => (point === "tokenReceived" && (answers += 1) === 1 ? Effect.never : Effect.void)
      })
      const id = yield* world.connected()
      yield* TestClock.adjust(hour)
      yield* Effect.fork(world.authorize(id))
      yield* settle
      yield* TestClock.adjust("5 minutes")
      const next = yield* world.node
      running.delete("node-1")
      const waiting = yield* Effect.fork(world.authorize(id, next))
      yield* settle
      yield* TestClock.adjust("19 seconds")
      assert.lengthOf(world.asked, 1, "it may be back: all lost the database")
      running.add("node-1")
      yield* TestClock.adjust("5 minutes")
      assert.lengthOf(world.asked, 1, "it is back")
      running.delete("node-1")
      yield* TestClock.adjust("21 seconds")
      assert.strictEqual((yield* Fiber.join(waiting))._tag, "Granted")
      assert.lengthOf(world.asked, 2)
    })
  )

  it.scoped("are committed by the next process of the data directory, before it asks for others", () =>
    Effect.gen(function* () {
      const { id, kept, state, world } = yield* loseAnswer()
      assert.notInclude(Buffer.from(kept.credential.sealed).toString(), "refresh-1", "sealed")
      const held = world.row(id)
      // As a process that ended in this moment leaves it: the first one stores its tokens too late.
      state.isAway = false
      yield* TestClock.adjust("2 seconds")
      world.rows.set(held.connection.id, held)
      world.files.set(kept.connectionId, kept)
      const next = yield* world.node
      assert.strictEqual((yield* world.authorize(id, next))._tag, "Granted")
      assert.lengthOf(world.asked, 1)
      assert.strictEqual(world.row(id).credential?.number, 2)
      assert.strictEqual(world.files.size, 0)
    })
  )

  it.scoped("are dropped at the next start where they are stored already", () =>
    Effect.gen(function* () {
      const { id, kept, state, world } = yield* loseAnswer()
      state.isAway = false
      yield* TestClock.adjust("2 seconds")
      const stored = world.row(id)
      world.files.set(kept.connectionId, kept)
      yield* world.node
      yield* settle
      assert.strictEqual(world.files.size, 0)
      assert.deepStrictEqual(world.row(id), stored)
    })
  )
})

describe("an intent whose request was not sent", () => {
  it.scoped("costs the connection nothing, however often the database loses the answer of its commit", () =>
    Effect.gen(function* () {
      let losses = 0
      const world = yield* makeWorld({
        answer: makeRotatingProvider(),
        intended: Effect.suspend(() =>
          losses-- > 0 ? new Unavailable({ reason: "it restarts", retryAfterSeconds: 1 }) : Effect.void
        )
      })
      const id = yield* world.connected()
      const actor = makeActorClient(yield* world.client(id))
      yield* TestClock.adjust(hour)
      for (let n = 0; n < 4; n++) {
        losses = 1
        const asking = yield* Effect.fork(Effect.exit(world.authorize(id)))
        yield* TestClock.adjust("3 seconds")
        yield* Fiber.join(asking)
        yield* actor.checkDue({ organisationId: organisation })
      }
      assert.strictEqual(world.row(id).connection.status, "active")
      assert.isAbove(world.row(id).credential?.number ?? 0, 1)
    })
  )
})

describe("a code that a person's consent yielded", () => {
  it.scoped("is redeemed once, and its tokens are stored as soon as the database is back", () =>
    Effect.gen(function* () {
      const { database, state } = makeDatabase()
      const world = yield* makeWorld({
        database,
        answer: (_, n) =>
          Effect.as(
            Effect.sync(() => (state.isAway = true)),
            freshTokens(n)
          )
      })
      const id = yield* world.connected()
      const actor = makeActorClient(yield* world.client(id))
      const to = { organisationId: organisation }
      const asked = { redirectUrl: null, authMethod: null, config: null }
      const { id: sessionId } = yield* actor.reconnect({ ...to, by: initiator, ...asked })
      yield* actor.submit({ ...to, sessionId, fields: {}, config: {} })
      const params = { code: Redacted.make("the-code") }
      const completing = yield* Effect.fork(actor.complete({ ...to, sessionId, params }))
      yield* settle
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(world.row(id).credential?.number, 1)
      state.isAway = false
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual((yield* Fiber.join(completing))._tag, "Connected")
      assert.lengthOf(world.asked, 1)
      assert.strictEqual(world.row(id).credential?.number, 2)
    })
  )
})
