/** One limit for all connections of a connector: over two of them, and over the death of its owner. */
import { Entity, Sharding, ShardingConfig } from "@effect/cluster"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Scope, TestClock } from "effect"
import { Permits } from "../../src/actors/connection/CallPermits.js"
import { layer as permitsLayer } from "../../src/actors/connection/SharedPermits.js"
import { Identifiers } from "../../src/actors/ports/Identifiers.js"
import { ProviderWindows } from "../../src/actors/ports/connection/ProviderWindows.js"
import { layer as limitLayer } from "../../src/actors/provider/Actor.js"
import { ProviderLimit } from "../../src/actors/provider/Protocol.js"
import type { CallLimits } from "../../src/domain/connection/CallLimits.js"
import { makeIdentifiers } from "../../src/runtime/process/Crypto.js"
import { makeWorld, manifest, organisation } from "../support/connectionWorld.js"
import { limitTable } from "../support/limitTable.js"

const limits: CallLimits = { requests: 6, perMillis: 10_000, concurrency: null }

/** An owner of the limit, and a node that requests permits from it. */
const node = (windows: Layer.Layer<ProviderWindows>) =>
  Effect.gen(function* () {
    const client = yield* Entity.makeTestClient(ProviderLimit, limitLayer.pipe(Layer.provide(windows))).pipe(
      Effect.provide(ShardingConfig.layerDefaults)
    )
    const actor = yield* client(`${organisation}|acme`)
    // The code under test requests the client of this entity only.
    const sharding = { makeClient: () => Effect.succeed(() => actor) } as unknown as Sharding.Sharding["Type"]
    const context = yield* Layer.build(
      permitsLayer.pipe(
        Layer.provide(Layer.succeed(Sharding.Sharding, sharding)),
        Layer.provide(windows),
        Layer.provide(Layer.succeed(Identifiers, makeIdentifiers()))
      )
    )
    return { actor, permits: Context.get(context, Permits) }
  })

const table = () => Layer.succeed(ProviderWindows, limitTable().windows)

/** Runs everything that is ready, without advancing the clock. */
const settle = Effect.forEach(Array.from({ length: 50 }), () => Effect.yieldNow(), { discard: true })
const limited = manifest({}, { rateLimit: { scope: "connector", requests: 6, perSeconds: 10 } })

describe("a limit of scope connector", () => {
  it.scoped("counts the calls of two connections together, on the fast path too, and is never exceeded", () =>
    Effect.gen(function* () {
      const { permits } = yield* node(table())
      const world = yield* makeWorld({ answer: () => Effect.never, manifest: limited, permits })
      const ids = [yield* world.connected(null), yield* world.connected(null)]
      const calls = Effect.forEach(Array.from({ length: 5 }, () => ids).flat(), (id) =>
        Effect.zip(world.authorize(id), world.atOnce(id))
      )
      const granted = (answers: Effect.Effect.Success<typeof calls>) =>
        answers.flatMap(([one, other]) => [
          one._tag,
          other === undefined ? "asked" : other._tag === "Right" ? other.right._tag : "refused"
        ])
      const tags = granted(yield* calls)
      assert.strictEqual(tags.filter((tag) => tag === "Granted").length, 6)
      assert.strictEqual(tags.at(-2), "WaitUntil")
      yield* TestClock.adjust("9 seconds")
      assert.notInclude(granted(yield* calls), "Granted")
      yield* TestClock.adjust("2 seconds")
      const later = granted(yield* calls)
      assert.strictEqual(later.filter((tag) => tag === "Granted").length, 6)
    })
  )

  it.scoped("survives its owner, together with the leases of a dead node", () =>
    Effect.gen(function* () {
      const windows = table()
      const first = yield* Scope.make()
      const before = yield* Scope.extend(node(windows), first)
      const used = yield* before.actor.LeaseCalls({ limits, id: "one", wanted: 1, timeoutMillis: 1_000 })
      assert.deepInclude(used, { _tag: "Leased", count: 1 })
      yield* before.actor.Report({ limits, leases: [{ id: "one", used: 1, lastAt: 0 }], reading: null })
      // This call is never reported: the node dies, and the owner with it.
      assert.deepInclude(yield* before.actor.LeaseCalls({ limits, id: "two", wanted: 1, timeoutMillis: 1_000 }), {
        _tag: "Leased"
      })

      const after = yield* node(windows)
      let got = 0
      for (let i = 0; i < 10; i++) {
        const answer = yield* after.actor.LeaseCalls({ limits, id: `n${i}`, wanted: 16, timeoutMillis: 1_000 })
        if (answer._tag === "Leased") got += answer.count
      }
      assert.strictEqual(got, 4)
      // The former owner has outdated counts: it reads the table again and grants nothing either.
      assert.strictEqual(
        (yield* before.actor.LeaseCalls({ limits, id: "late", wanted: 1, timeoutMillis: 1_000 }))._tag,
        "WaitUntil"
      )
    })
  )

  it.scoped("keeps the slot of a long call, whatever it was leased for, and frees those of a dead node", () =>
    Effect.gen(function* () {
      const windows = table()
      const single: CallLimits = { requests: null, perMillis: 1_000, concurrency: 1 }
      const dying = yield* Scope.make()
      const here = yield* Scope.extend(node(windows), dying)
      const there = yield* node(windows)
      const mine = here.permits.shared(organisation, "acme", single)
      const asked = there.actor.LeaseCalls({ limits: single, id: "other", wanted: 1, timeoutMillis: 1_000 })
      yield* mine.fetch(20_000)
      const taken = mine.take(yield* Effect.clockWith((clock) => clock.currentTimeMillis))
      assert.isTrue(taken !== undefined && "lease" in taken)
      for (let n = 0; n < 40; n++) {
        yield* TestClock.adjust("15 seconds")
        yield* settle
        if (n < 30) assert.strictEqual((yield* asked)._tag, "WaitUntil", `after ${(n + 1) * 15} s`)
        if (n === 30) yield* Scope.close(dying, Exit.void)
      }
      assert.strictEqual((yield* asked)._tag, "Leased")
    })
  )

  it.scoped("gives the slot of an ended call to the next one, also after a long call", () =>
    Effect.gen(function* () {
      const { permits } = yield* node(table())
      const single: CallLimits = { requests: null, perMillis: 1_000, concurrency: 1 }
      const pool = permits.shared(organisation, "acme", single)
      const now = Effect.clockWith((clock) => clock.currentTimeMillis)
      yield* pool.fetch(20_000)
      const first = pool.take(yield* now)
      assert.isTrue(first !== undefined && "lease" in first)
      yield* TestClock.adjust("2 minutes")
      yield* settle
      yield* pool.fetch(20_000)
      assert.isTrue("at" in (pool.take(yield* now) ?? {}))
      if (first !== undefined && "lease" in first) yield* pool.settle(first.lease, null, yield* now)
      yield* settle
      yield* TestClock.adjust("2 seconds")
      yield* pool.fetch(20_000)
      assert.isTrue("lease" in (pool.take(yield* now) ?? {}))
    })
  )

  it.scoped(
    "stops every connection of the connector, on every node, when the provider sends one of them a retry-after",
    () =>
      Effect.gen(function* () {
        const windows = table()
        const here = yield* node(windows)
        const there = yield* node(windows)
        const world = yield* makeWorld({ answer: () => Effect.never, manifest: limited, permits: here.permits })
        const [one, other] = [yield* world.connected(null), yield* world.connected(null)]
        const answer = yield* world.authorize(one)
        assert.strictEqual(answer._tag, "Granted")
        if (answer._tag !== "Granted") return
        const actor = yield* world.client(one)
        const retryAfterAt = (yield* world.now) + 60_000
        yield* actor.Settle({
          organisationId: organisation,
          permit: answer.permit,
          status: 429,
          reading: { limit: null, remaining: null, resetAt: null, retryAfterAt }
        })
        yield* settle
        assert.deepInclude(yield* world.authorize(other), { _tag: "WaitUntil", at: retryAfterAt, why: "rate_limit" })
        assert.deepStrictEqual(yield* there.actor.LeaseCalls({ limits, id: "x", wanted: 1, timeoutMillis: 1_000 }), {
          _tag: "WaitUntil",
          at: retryAfterAt
        })
        yield* TestClock.adjust("61 seconds")
        assert.strictEqual((yield* world.authorize(other))._tag, "Granted")
      })
  )
})
