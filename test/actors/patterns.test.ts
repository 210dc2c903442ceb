/** Compiled patterns are kept by organisation; one that keeps many displaces its own, never those of others. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { PatternCache } from "../../src/actors/PatternCache.js"
import * as PatternsLive from "../../src/actors/Patterns.js"
import { Computations, TooCostly } from "../../src/actors/ports/Computations.js"
import type { Condition } from "../../src/domain/expression/Condition.js"
import type { OrganisationId } from "../../src/domain/Ids.js"
import { computations } from "../../src/runtime/computing/worker/Table.js"
import { layerOwnAccounts, ownerOf } from "../support/shareOwners.js"

const [mine, theirs] = ["org_1" as OrganisationId, "org_2" as OrganisationId]

/** The facility, and the batches that it had compiled. `costly`: a pattern that exceeds the deadline. */
const world = (costly = "") => {
  const batches: Array<ReadonlyArray<string>> = []
  const compute = (name: string, _: OrganisationId, input: unknown) => {
    assert.strictEqual(name, "compilePatterns")
    const batch = input as ReadonlyArray<string>
    batches.push(batch)
    return batch.includes(costly)
      ? new TooCostly({ computation: "compilePatterns", exceeded: "time", allowedMillis: 1_000 })
      : Effect.sync(() => computations.compilePatterns(batch)).pipe(Effect.delay(1))
  }
  const layer = PatternsLive.Patterns.Default.pipe(
    Layer.provide([Layer.mock(Computations, { compute: compute as never }), layerOwnAccounts])
  )
  return { batches, layer }
}

const matches = (value: string): Condition => ({ path: "a", op: "matches", value })

describe("patterns", () => {
  it.live("are compiled once for any number that need them at the same time", () => {
    const { batches, layer } = world()
    return Effect.gen(function* () {
      const patterns = yield* PatternsLive.Patterns
      const find = patterns.evaluate(mine, (lookup) => [lookup("^a")?.matches("ab"), lookup("^b")?.matches("ab")])
      const found = yield* Effect.all(
        Array.from({ length: 20 }, () => find),
        { concurrency: "unbounded" }
      )
      for (const one of found) assert.deepStrictEqual(one, [true, false])
      assert.deepStrictEqual(batches, [["^a", "^b"]])
      yield* patterns.evaluate(theirs, (lookup) => lookup("^a"))
      assert.lengthOf(batches, 2)
    }).pipe(Effect.provide(layer))
  })

  it.live("that only a later part of the work asks for are compiled as well", () => {
    const { batches, layer } = world()
    return Effect.gen(function* () {
      const patterns = yield* PatternsLive.Patterns
      const isMet = yield* patterns.evaluate(
        mine,
        (lookup) => lookup("^a")?.matches("ab") === true && lookup("b$")?.matches("ab") === true
      )
      assert.isTrue(isMet)
      assert.deepStrictEqual(batches, [["^a"], ["b$"]])
    }).pipe(Effect.provide(layer))
  })

  it.live("say why they cannot be used; a costly one spoils none of its batch", () => {
    const { layer } = world("costly")
    return Effect.gen(function* () {
      const patterns = yield* PatternsLive.Patterns
      const mistakes = yield* patterns.mistakes(mine, ["^a", "costly", "(", "b"])
      assert.deepStrictEqual([...mistakes.keys()], ["costly", "("])
      assert.match(mistakes.get("costly") ?? "", /takes more than 1000 ms/)
      const lookup = yield* patterns.ofCondition(mine, { any: [matches("b"), { not: matches("costly") }] })
      assert.isTrue(lookup("b")?.matches("abc"))
      assert.isUndefined(lookup("costly"))
    }).pipe(Effect.provide(layer))
  })
})

describe("the cache", () => {
  const entry = (bytes: number) => ({ pattern: { instructions: 1, bytes, matches: () => true } })

  it("evicts what its largest organisation used least recently", () => {
    const cache = new PatternCache(50_000)
    cache.add(ownerOf(theirs), "kept", entry(1_000))
    for (let n = 0; n < 100; n++) {
      cache.add(ownerOf(mine), `p${n}`, entry(4_000))
      assert.isDefined(cache.find(mine, "p0"))
    }
    assert.isDefined(cache.find(theirs, "kept"))
    assert.isUndefined(cache.find(mine, "p1"))
    assert.isDefined(cache.find(mine, "p99"))
  })

  it("evicts what the largest account holds, of its organisation that holds most", () => {
    const cache = new PatternCache(50_000)
    const [small, large] = ["org_small", "org_large"].map((id) => ownerOf(id, "org_parent"))
    if (small === undefined || large === undefined) return assert.fail()
    const add = (owner: typeof small, count: number) => {
      for (let n = 0; n < count; n++) cache.add(owner, `p${n}`, entry(4_000))
    }
    add(ownerOf(theirs), 4)
    add(small, 2)
    add(large, 3)
    const kept = (owner: typeof small, pattern: string) => cache.find(owner.organisation, pattern) !== undefined
    add(small, 3)
    assert.isTrue(kept(large, "p0"), "which is now the one used last")
    cache.add(large, "p3", entry(4_000))
    const all = ["p0", "p1", "p2", "p3"]
    assert.deepStrictEqual(
      [ownerOf(theirs), small, large].map((owner) => all.filter((pattern) => kept(owner, pattern))),
      [all, ["p0", "p1", "p2"], ["p0", "p2", "p3"]]
    )
  })
})
