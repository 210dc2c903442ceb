/** The fast path past the mailbox: the same owner, permits and refresh, and never another answer than the actor's. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Option, Redacted, Scope, TestClock } from "effect"
import { makeActorClient } from "../../src/actors/connection/ActorClient.js"
import { newOwner } from "../../src/actors/connection/ConnectionOwner.js"
import { LocalOwners } from "../../src/actors/connection/LocalOwners.js"
import { LastUse } from "../../src/actors/connection/LastUse.js"
import { Ownership } from "../../src/actors/ports/Ownership.js"
import { unlimited } from "../../src/domain/connection/CallLimits.js"
import { decodeManifest } from "../../src/domain/connector/Definition.js"
import type { ConnectionId } from "../../src/domain/Ids.js"
import {
  initiator,
  failedAnswer,
  freshTokens,
  makeWorld,
  manifest,
  organisation,
  origin
} from "../support/connectionWorld.js"
import { ownershipOf } from "../support/ownership.js"

const tagOf = (answer: Effect.Effect.Success<ReturnType<World["atOnce"]>>) =>
  answer === undefined ? undefined : answer._tag === "Right" ? answer.right._tag : `refused: ${answer.left._tag}`
type World = Effect.Effect.Success<ReturnType<typeof makeWorld>>

describe("a call through a connection whose actor lives on this node", () => {
  it.scoped("takes the fast path for a second after the first call, which wakes the actor", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ answer: () => Effect.never })
      const id = yield* world.connected()
      assert.isUndefined(yield* world.atOnce(id))
      yield* world.authorize(id)
      assert.strictEqual(tagOf(yield* world.atOnce(id)), "Granted")
      yield* TestClock.adjust("999 millis")
      assert.strictEqual(tagOf(yield* world.atOnce(id)), "Granted")
      yield* TestClock.adjust("1 millis")
      assert.isUndefined(yield* world.atOnce(id))
      assert.isUndefined(yield* world.atOnce(world.identifiers.next("conn")))
    })
  )

  it.scoped("goes to the actor as soon as the connection changes", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ answer: () => Effect.never })
      const changes = [
        (id: ConnectionId) => Effect.map(world.client(id), (actor) => makeActorClient(actor).disable(ordered)),
        (id: ConnectionId) =>
          Effect.map(world.client(id), (actor) => makeActorClient(actor).disconnect({ ...ordered, version: null })),
        (id: ConnectionId) =>
          Effect.map(world.client(id), (actor) =>
            makeActorClient(actor).storeCredential({
              ...ordered,
              credential: { accessToken: Redacted.make("another") },
              config: null,
              skipTest: true,
              authMethod: null
            })
          )
      ]
      for (const change of changes) {
        const id = yield* world.connected()
        yield* world.authorize(id)
        assert.strictEqual(tagOf(yield* world.atOnce(id)), "Granted")
        yield* yield* change(id)
        assert.isUndefined(yield* world.atOnce(id))
      }
    })
  )

  it.scoped("starts no refresh and never uses a token that is due for one", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ answer: (_, n) => Effect.delay(Effect.succeed(freshTokens(n)), "15 seconds") })
      // The margin of a token of an hour is twelve minutes.
      const id = yield* world.connected(3_600)
      yield* TestClock.adjust("2879 seconds")
      yield* world.authorize(id)
      yield* TestClock.adjust("900 millis")
      assert.strictEqual(tagOf(yield* world.atOnce(id)), "Granted")
      yield* world.authorize(id)
      yield* TestClock.adjust("101 millis")
      assert.isUndefined(yield* world.atOnce(id))
      assert.lengthOf(world.asked, 0)
      yield* world.authorize(id)
      yield* Effect.forEach(Array.from({ length: 50 }), () => Effect.yieldNow(), { discard: true })
      assert.lengthOf(world.asked, 1)
    })
  )

  it.scoped("never uses an expired token, also while no refresh is possible", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ answer: () => failedAnswer(503) })
      const id = yield* world.connected(60)
      yield* TestClock.adjust("55 seconds")
      yield* world.authorize(id)
      yield* TestClock.adjust("4500 millis")
      yield* world.authorize(id)
      assert.strictEqual(tagOf(yield* world.atOnce(id)), "Granted")
      yield* TestClock.adjust("500 millis")
      assert.isUndefined(yield* world.atOnce(id))
    })
  )

  it.scoped("shares the permits of messages: together never above the limit", () =>
    Effect.gen(function* () {
      const limited = manifest({}, { rateLimit: { requests: 5, perSeconds: 10 } })
      const world = yield* makeWorld({ answer: () => Effect.never, manifest: limited })
      const id = yield* world.connected(null)
      const tags: Array<string | undefined> = []
      for (let i = 0; i < 3; i++) {
        tags.push((yield* world.authorize(id))._tag)
        tags.push(tagOf(yield* world.atOnce(id)))
      }
      // The fast path knows that nothing is left once a message has asked for more.
      assert.deepStrictEqual(tags, ["Granted", "Granted", "Granted", "Granted", "Granted", undefined])
      assert.strictEqual((yield* world.authorize(id))._tag, "WaitUntil")
      assert.strictEqual(tagOf(yield* world.atOnce(id)), "WaitUntil")
    })
  )

  it.scoped("gives its place among the calls in flight back, except for a refusal, which the actor must judge", () =>
    Effect.gen(function* () {
      const limited = manifest({}, { rateLimit: { perSeconds: 1, concurrency: 1 } })
      const world = yield* makeWorld({ answer: () => Effect.never, manifest: limited })
      const id = yield* world.connected(null)
      const first = yield* world.authorize(id)
      assert.strictEqual((yield* world.authorize(id))._tag, "WaitUntil")
      if (first._tag !== "Granted") return assert.fail("the first call is refused")
      assert.isTrue(yield* world.settledAtOnce(id, first.permit, 200))
      // Its report ends in the background.
      yield* Effect.forEach(Array.from({ length: 50 }), () => Effect.yieldNow(), { discard: true })
      const second = yield* world.authorize(id)
      if (second._tag !== "Granted") return assert.fail("the place is not given back")
      assert.isFalse(yield* world.settledAtOnce(id, second.permit, 401))
    })
  )

  it.scoped("through another organisation's connection is left to the actor, which answers NotFound", () =>
    Effect.gen(function* () {
      const { residents, self } = yield* here
      const asked = {
        organisationId: "org_00000000000000000000000002",
        origin,
        executionId: null,
        timeoutMillis: 1_000
      }
      assert.isUndefined(yield* residents.tryGrant(self.id, asked))
    })
  )

  it.scoped("does not take the fast path once the shard is lost or the actor has ended", () =>
    Effect.gen(function* () {
      const { held, residents, scope, self } = yield* here
      const ask = residents.tryGrant(self.id, {
        organisationId: organisation,
        origin,
        executionId: null,
        timeoutMillis: 1_000
      })
      assert.isDefined(yield* ask)
      held.clear()
      assert.isUndefined(yield* ask)
      assert.isFalse(
        yield* residents.trySettle(self.id, {
          permit: { credential: 1, lease: null },
          status: 200,
          reading: null
        })
      )
      held.add(7)
      assert.isDefined(yield* ask)
      yield* Scope.close(scope, Exit.void)
      assert.isUndefined(yield* ask)
    })
  )
})

const ordered = { organisationId: organisation, by: initiator }

/** An owner on the node of shard 7. */
const here = Effect.gen(function* () {
  const world = yield* makeWorld({ answer: () => Effect.never })
  const id = yield* world.connected(null)
  const held = new Set([7])
  const context = yield* Layer.build(
    LocalOwners.Default.pipe(
      Layer.provide(Layer.succeed(LastUse, LastUse.make({ record: () => Effect.void }))),
      Layer.provide(
        Layer.succeed(
          Ownership,
          ownershipOf({ shardOf: () => 7, owns: (shard) => held.has(shard), nodes: () => 2, isAlone: false })
        )
      )
    )
  )
  const residents = Context.get(context, LocalOwners)
  const definition = decodeManifest(manifest())
  const method = Option.getOrThrow(Option.fromNullable(definition.auth[0]))
  const self = newOwner(id, 7)
  const { connection, intent, revision } = world.row(id)
  self.open = {
    connection,
    intent,
    revision,
    credential: null,
    plain: {
      _tag: "Tokens",
      accessToken: Redacted.make("access"),
      refreshToken: null,
      issuedAt: 0,
      expiresAt: null,
      fields: {},
      provider: null
    }
  }
  self.connector = {
    until: Number.MAX_SAFE_INTEGER,
    definition,
    method,
    origins: [origin],
    limits: unlimited,
    shared: null,
    vault: { seal: () => new Uint8Array(1), open: () => new Uint8Array(0) }
  }
  const scope = yield* Scope.make()
  yield* residents.register(self, scope)
  return { residents, self, held, scope }
})
