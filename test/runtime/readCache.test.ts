/** A cached read is a moment old at most, never older than a change of its organisation on this node, and shared. */
import { assert, describe, it } from "@effect/vitest"
import { SqlClient } from "@effect/sql"
import type { Connection } from "@effect/sql/SqlConnection"
import { Deferred, Effect, Fiber, Option, TestClock } from "effect"
import type { OrganisationId } from "../../src/domain/Ids.js"
import { Commits, makeCommitLog } from "../../src/runtime/postgres/database/CommitLog.js"
import { makeReadCache, noOrganisation, type ReadCacheOptions } from "../../src/runtime/postgres/ReadCache.js"

const world = (options?: ReadCacheOptions<number>) =>
  Effect.gen(function* () {
    const commits = makeCommitLog()
    const cache = yield* Effect.provideService(makeReadCache<number>(options), Commits, commits)
    let loads = 0
    const load = Effect.sync(() => ++loads)
    return { read: (key: string) => cache.get(key, () => load), cache, commits }
  })

const organisation = "org_1" as OrganisationId

describe("A read cache", () => {
  it.effect("reads again when the value is no longer fresh", () =>
    Effect.gen(function* () {
      const { read } = yield* world()
      assert.deepStrictEqual([yield* read("org_1|a"), yield* read("org_1|a"), yield* read("org_1|b")], [1, 1, 2])
      yield* TestClock.adjust("800 millis")
      assert.strictEqual(yield* read("org_1|a"), 3)
    })
  )

  it.effect("reads again after a commit of the organisation that its key names, and of no other", () =>
    Effect.gen(function* () {
      const { commits, read } = yield* world()
      yield* read("org_1|a")
      commits.recordCommit("org_2" as OrganisationId)
      assert.strictEqual(yield* read("org_1|a"), 1)
      commits.recordCommit(organisation)
      assert.strictEqual(yield* read("org_1|a"), 2)
      const other = yield* world({ organisationOf: noOrganisation })
      yield* other.read("org_1|a")
      other.commits.recordCommit(organisation)
      assert.strictEqual(yield* other.read("org_1|a"), 1)
    })
  )

  it.effect("reads outside of its caller's transaction, whose role may see less", () =>
    Effect.gen(function* () {
      const { cache } = yield* world()
      const load = Effect.map(Effect.serviceOption(SqlClient.TransactionConnection), (open) =>
        Option.isSome(open) ? 1 : 0
      )
      const connection = [{} as Connection, 0] as const // never used
      const inside = Effect.provideService(SqlClient.TransactionConnection, connection)
      assert.strictEqual(yield* inside(load), 1)
      assert.strictEqual(yield* inside(cache.get("org_1|a", () => load)), 0)
    })
  )

  it.effect("drops the value that was read longest ago when it is full", () =>
    Effect.gen(function* () {
      const { read } = yield* world({ maxEntries: 2 })
      for (const key of ["o|a", "o|b", "o|c"]) yield* read(key)
      assert.deepStrictEqual([yield* read("o|b"), yield* read("o|c"), yield* read("o|a")], [2, 3, 4])
    })
  )

  it.effect("shares one load among concurrent reads, and keeps no absence", () =>
    Effect.gen(function* () {
      const { cache } = yield* world()
      const answer = yield* Deferred.make<number | undefined>()
      let loads = 0
      const load = Effect.zipRight(
        Effect.sync(() => loads++),
        Deferred.await(answer)
      )
      const fibers = yield* Effect.forEach([1, 2], () => Effect.fork(cache.find("o|a", () => load)))
      yield* Effect.yieldNow()
      yield* Deferred.succeed(answer, undefined)
      assert.deepStrictEqual(yield* Fiber.joinAll(fibers), [Option.none(), Option.none()])
      assert.strictEqual(loads, 1)
      assert.deepStrictEqual(yield* cache.find("o|a", () => Effect.succeed(7)), Option.some(7))
      assert.deepStrictEqual(yield* cache.find("o|a", () => Effect.die("a second load")), Option.some(7))
    })
  )
})
