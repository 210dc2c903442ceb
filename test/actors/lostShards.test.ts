/** Runs of a node that cannot be sure of its shards: they send nothing, and are left to whoever owns them, soon. */
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Fiber, TestClock } from "effect"
import { LiveRuns } from "../../src/actors/execution/LiveRuns.js"
import { JournalUnavailable } from "../../src/actors/ports/run/Journal.js"
import { openRun } from "../support/journal.js"
import { makeChangingNode } from "../support/ownership.js"
import { makeRunWorld, passUntil, startEntry } from "../support/runWorld.js"
import { call, type Guest } from "../support/scriptedSandbox.js"

const get = (path: string) => call("fetch", { url: `https://acme.test/${path}` })

/** As its node left it. */
const orphan = Effect.map(Effect.map(DateTime.now, DateTime.toEpochMillis), (at) =>
  openRun({ progress: 1, engine: "memory", createdAt: at, startedAt: at, wakeAt: at, deadlineAt: at + 900_000 })
)

describe("a run of a node that cannot be sure of its shards", () => {
  it.scoped("sends nothing meanwhile, and goes on when the node is sure again", () => {
    const node = makeChangingNode()
    let turns = 0
    const guest: Guest = function* () {
      turns += 1
      if (turns === 1) node.hold.isSure = false
      yield get("a")
      yield get("b")
      return "done"
    }
    const world = makeRunWorld({ guests: { main: guest }, node: node.layer })
    return Effect.gen(function* () {
      const left = yield* orphan
      world.add(left, [startEntry(left.createdAt)])
      yield* passUntil(() => turns > 0)
      yield* TestClock.adjust("3 seconds")
      assert.isEmpty(world.sent)
      const live = yield* LiveRuns
      assert.strictEqual(live.size(), 0, "it is left to its owner")
      node.hold.isSure = true
      yield* passUntil(() => world.ended.has(left.id))
      assert.strictEqual(world.ended.get(left.id)?.status, "completed")
      assert.deepStrictEqual(world.sent, ["https://acme.test/a", "https://acme.test/b"])
      // It is no death of the process.
      assert.isAtMost(world.ended.get(left.id)?.run.activations ?? 9, 1)
    }).pipe(Effect.provide(world.layer))
  })

  it.scoped("is out of its slot when its shard has left, though nobody waited until it was stopped", () => {
    const node = makeChangingNode()
    const guest: Guest = function* () {
      yield get("hang")
      return "done"
    }
    const world = makeRunWorld({ guests: { main: guest }, node: node.layer })
    return Effect.gen(function* () {
      const left = yield* orphan
      world.add(left, [startEntry(left.createdAt)])
      yield* passUntil(() => world.sent.length === 1)
      const live = yield* LiveRuns
      const leaving = yield* Effect.fork(node.giveUp)
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(leaving)
      assert.isFalse(live.has(left.id))
      assert.deepStrictEqual(world.aborted, ["https://acme.test/hang"])
      node.hold.isSure = true
      yield* passUntil(() => world.sent.length === 2)
    }).pipe(Effect.provide(world.layer))
  })

  it.scoped("is stopped without an error while a read that it shares with others goes on and fails", () => {
    const node = makeChangingNode()
    const state = { reads: 0, isAway: true }
    const read = Effect.suspend(() => {
      state.reads += 1
      const failed = new JournalUnavailable({ reason: "the database is away" })
      return state.isAway ? Effect.uninterruptible(Effect.delay(failed, "1 second")) : Effect.succeed([])
    })
    const guest: Guest = function* () {
      yield get("a")
      return "done"
    }
    const world = makeRunWorld({ guests: { main: guest }, node: node.layer, subscribed: () => read })
    return Effect.gen(function* () {
      const left = yield* orphan
      world.add(left, [startEntry(left.createdAt)])
      yield* passUntil(() => state.reads === 1)
      const leaving = yield* Effect.fork(node.giveUp)
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.join(leaving)
      Object.assign(state, { isAway: false })
      node.hold.isSure = true
      yield* passUntil(() => world.ended.has(left.id))
      assert.strictEqual(world.ended.get(left.id)?.status, "completed")
    }).pipe(Effect.provide(world.layer))
  })
})
