/** A map for entries that come and go keeps none of those that went. */
import { assert, describe, it } from "@effect/vitest"
import { BriefMap, BriefSet } from "../../src/domain/BriefMap.js"

describe("BriefMap", () => {
  it("is a map: the last value of a key, in the order in which keys came", () => {
    const map = new BriefMap<string, { readonly n: number }>()
    map.set("a", { n: 1 })
    map.set("b", { n: 2 })
    map.set("a", { n: 3 })
    assert.deepStrictEqual([...map], [["a", { n: 3 }] as const, ["b", { n: 2 }] as const])
    assert.deepStrictEqual([...map.keys()], ["a", "b"])
    assert.deepStrictEqual([...map.values()], [{ n: 3 }, { n: 2 }])
    assert.deepStrictEqual([map.size, map.has("a"), map.get("b")], [2, true, { n: 2 }])
    assert.deepStrictEqual([map.delete("a"), map.delete("a")], [true, false])
    assert.deepStrictEqual([map.size, map.has("a"), map.get("a")], [1, false, undefined])
    map.clear()
    assert.deepStrictEqual([map.size, [...map]], [0, []])
  })

  it("goes on over the entries that are left when one is removed meanwhile", () => {
    const map = new BriefMap<number, { readonly n: number }>()
    for (let n = 0; n < 4; n++) map.set(n, { n })
    const seen: Array<number> = []
    for (const [key] of map) {
      seen.push(key)
      map.delete(key + 1)
    }
    assert.deepStrictEqual(seen, [0, 2])
  })

  it("is a set, whose values are removed by what adding them returned", () => {
    const set = new BriefSet<{ readonly n: number }>()
    const [removeOne, , removeThree] = [1, 2, 3].map((n) => set.add({ n }))
    removeThree?.()
    removeThree?.()
    assert.deepStrictEqual([...set.values()], [{ n: 1 }, { n: 2 }])
    removeOne?.()
    set.add({ n: 4 })
    assert.deepStrictEqual([...set.values()], [{ n: 2 }, { n: 4 }])
    set.clear()
    assert.deepStrictEqual([...set.values()], [])
  })
})
