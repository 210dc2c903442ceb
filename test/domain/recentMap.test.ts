/** Caches hold a bounded number of entries, whatever keys tenants choose. */
import { assert, describe, it } from "vitest"
import { memoize, RecentMap } from "../../src/domain/RecentMap.js"

describe("A bounded map", () => {
  it("drops the entry that was set longest ago", () => {
    const map = new RecentMap<string, number>(2)
    map.set("a", 1).set("b", 2).set("a", 3).set("c", 4)
    assert.deepStrictEqual(
      [...map],
      [
        ["a", 3],
        ["c", 4]
      ]
    )
  })
})

describe("A memoized function", () => {
  it("computes once for each text that it still holds, and always for long ones", () => {
    const computed: Array<number> = []
    const length = memoize((text) => {
      computed.push(text.length)
      return text.length
    }, 2)
    for (const text of ["a", "a", "bb", "a", "ccc", "bb", "a"]) assert.strictEqual(length(text), text.length)
    assert.deepStrictEqual(computed, [1, 2, 3, 1])
    const long = "x".repeat(2_000)
    assert.deepStrictEqual([length(long), length(long)], [2_000, 2_000])
    assert.deepStrictEqual(computed.slice(4), [2_000, 2_000])
  })
})
