/** Two lists of records are compared by a key: every record is counted once, and nothing that is alike is reported. */
import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { type ComparisonOrder, compareLists, type ListComparison } from "../../../src/domain/diff/ListComparison.js"
import type { Json } from "../../../src/domain/Json.js"

const compare = (source: ReadonlyArray<Json>, target: ReadonlyArray<Json>, more: Partial<ComparisonOrder> = {}) => {
  const work = compareLists({ source, target, key: ["id"], fields: null, ignore: [], ...more })
  for (;;) {
    const next = work.next()
    if (next.done === true) return next.value ?? assert.fail("more differences than a report may have")
  }
}

/** Whether the comparison is given up, since there are too many differences. */
const isGivenUp = (source: ReadonlyArray<Json>, target: ReadonlyArray<Json>): boolean => {
  const work = compareLists({ source, target, key: ["id"], fields: null, ignore: [] })
  for (;;) {
    const next = work.next()
    if (next.done === true) return next.value === undefined
  }
}

const keysOf = ({ entries }: ListComparison, op: string) =>
  entries.filter((entry) => entry.op === op).map(({ key }) => key)
const fieldsOf = ({ entries }: ListComparison) => entries.flatMap(({ fields }) => fields)

describe("a comparison of two lists", () => {
  it("names what the target lacks, what differs, and what the source lacks, in the order of the lists", () => {
    const found = compare(
      [{ id: 3 }, { id: "1", name: "Ada" }, { id: "2", name: "Grace" }],
      [{ id: "9" }, { id: "2", name: "Hopper" }, { id: "1", name: "Ada" }, { id: "8" }]
    )
    assert.deepStrictEqual(found.summary, { added: 1, changed: 1, removed: 2, unchanged: 1, skipped: 0 })
    assert.deepStrictEqual(
      found.entries.map(({ key, op }) => [op, key]),
      [
        ["added", "3"],
        ["changed", "2"],
        ["removed", "9"],
        ["removed", "8"]
      ]
    )
    assert.deepStrictEqual(fieldsOf(found), [{ path: "name", at: ["name"], source: "Grace", target: "Hopper" }])
  })

  it("takes a number and its text for the same key", () => {
    assert.deepStrictEqual(compare([{ id: 7 }], [{ id: "7" }]).summary.removed, 0)
  })

  it.each<[string, Json, Json, ReadonlyArray<string>]>([
    ["members in another order", { a: 1, b: [{ c: 1, d: 2 }] }, { b: [{ d: 2, c: 1 }], a: 1 }, []],
    ["a member that is null and one that is missing", { a: null }, {}, []],
    ["such a member inside a list", { a: [{ b: null }] }, { a: [{}] }, []],
    ["members of members, each with its path", { a: { b: 1, c: 2 } }, { a: { b: 2, c: 3 } }, ["a.b", "a.c"]],
    ["an object in the place of nothing, whole", { a: { b: 1 } }, {}, ["a"]],
    ["lists, whole", { a: [1, 2] }, { a: [1, 3] }, ["a"]],
    ["lists of different length", { a: [1] }, { a: [1, null] }, ["a"]],
    ["a number and its text", { a: 1 }, { a: "1" }, ["a"]],
    ["names that no path has", { "a b": { "c.d": 1 } }, { "a b": { "c.d": 2 } }, ['["a b"]["c.d"]']],
    ["a member that every object inherits", { toString: 1, ["__proto__"]: 2 }, {}, ["toString", "__proto__"]]
  ])("compares %s", (_, source, target, paths) => {
    const found = compare([{ id: 1, ...(source as object) }], [{ id: 1, ...(target as object) }])
    assert.deepStrictEqual(
      fieldsOf(found).map(({ path }) => path),
      paths
    )
  })

  it("compares the named fields only, and nothing that is ignored", () => {
    const [one, other] = [
      { id: 1, a: { b: 1, c: 1 }, d: 1, e: 1 },
      { id: 1, a: { b: 2, c: 2 }, d: 2, e: 2 }
    ]
    const paths = (more: Partial<ComparisonOrder>) => fieldsOf(compare([one], [other], more)).map(({ path }) => path)
    assert.deepStrictEqual(paths({ ignore: [["a", "b"], ["d"]] }), ["a.c", "e"])
    assert.deepStrictEqual(paths({ fields: [["a"], ["d"]] }), ["a.b", "a.c", "d"])
    assert.deepStrictEqual(paths({ fields: [["a", "c"]], ignore: [["a"]] }), [])
    assert.deepStrictEqual(paths({ fields: [["a"]], ignore: [["a", "b"]] }), ["a.c"])
  })

  it("skips records without a key, and all whose key occurs twice in either list", () => {
    const found = compare(
      [
        { id: 1, n: 1 },
        { id: 1, n: 2 },
        { name: "none" },
        { id: null },
        { id: { a: 1 } },
        5,
        null,
        { id: "" },
        { id: 4 }
      ],
      [{ id: 1 }, { id: 4 }, { id: "4" }, [1]]
    )
    assert.deepStrictEqual(found.summary, { added: 0, changed: 0, removed: 0, unchanged: 0, skipped: 13 })
    assert.strictEqual(keysOf(found, "skipped").filter((key) => key === null).length, 7)
    assert.deepStrictEqual(
      found.entries.filter(({ key }) => key === "1").map(({ list, reason }) => [list, reason]),
      [
        ["source", "DUPLICATE_KEY"],
        ["source", "DUPLICATE_KEY"],
        ["target", "DUPLICATE_KEY"]
      ]
    )
  })

  it("reads keys at any depth, and of own members only", () => {
    assert.strictEqual(compare([{ a: { k: 1 } }], [{ a: { k: 1 } }], { key: ["a", "k"] }).summary.unchanged, 1)
    assert.strictEqual(compare([{}], [{}], { key: ["constructor", "name"] }).summary.skipped, 2)
  })

  const record = fc.record(
    {
      id: fc.oneof(fc.integer({ min: 0, max: 6 }), fc.constant(null)),
      a: fc.integer({ min: 0, max: 2 }),
      b: fc.jsonValue({ maxDepth: 2 })
    },
    { requiredKeys: [] }
  )
  it("counts every record of both lists, and finds what a naive comparison finds", () => {
    fc.assert(
      fc.property(fc.array(record, { maxLength: 12 }), fc.array(record, { maxLength: 12 }), (one, other) => {
        const [source, target] = [one as unknown as ReadonlyArray<Json>, other as unknown as ReadonlyArray<Json>]
        const { entries, summary } = compare(source, target)
        const { added, changed, removed, skipped, unchanged } = summary
        assert.strictEqual(added + removed + skipped + 2 * (changed + unchanged), source.length + target.length)
        assert.strictEqual(added + changed + removed + skipped, entries.length)
        const keyOf = (value: (typeof one)[number]) =>
          value.id === undefined || value.id === null ? undefined : value.id
        const once = (list: typeof one, key: number) => list.filter((value) => keyOf(value) === key).length === 1
        const none = (list: typeof one, key: number) => list.every((value) => keyOf(value) !== key)
        const keys = [...new Set([...one, ...other].flatMap((value) => keyOf(value) ?? []))]
        assert.strictEqual(added, keys.filter((key) => once(one, key) && none(other, key)).length)
        assert.strictEqual(removed, keys.filter((key) => none(one, key) && once(other, key)).length)
        assert.strictEqual(changed + unchanged, keys.filter((key) => once(one, key) && once(other, key)).length)
      }),
      { numRuns: 300 }
    )
  })

  it("pauses while it compares, however many records there are", () => {
    const list = Array.from({ length: 20_000 }, (_, id) => ({ id, a: id, b: [id] }))
    const work = compareLists({
      source: list,
      target: list.map((one) => ({ ...one })),
      key: ["id"],
      fields: null,
      ignore: []
    })
    let pauses = 0
    while (work.next().done !== true) pauses += 1
    assert.isAbove(pauses, 10)
  })

  it("reports what several fields name once, and takes no part of a list for a field", () => {
    const [one, other] = [
      { id: 1, a: { b: { c: 1 } }, d: [1] },
      { id: 1, a: { b: { c: 2 } }, d: [2] }
    ]
    const fields = [["a", "b", "c"], ["a"], ["a"], ["a", "b"], ["d", "0"], ["d", "00"]]
    assert.deepStrictEqual(
      fieldsOf(compare([one], [other], { fields })).map(({ path }) => path),
      ["a.b.c"]
    )
  })

  it("gives up where a report would be far larger than the lists: a long name stands in all paths below it", () => {
    const members = (value: number) => Object.fromEntries(Array.from({ length: 30_000 }, (_, n) => [`m${n}`, value]))
    const below = (name: string, value: number) => [{ id: 1, [name]: members(value) }]
    assert.isFalse(isGivenUp(below("a", 1), below("a", 2)))
    assert.isTrue(isGivenUp(below("x".repeat(1_000_000), 1), below("x".repeat(1_000_000), 2)))
    const deep = (value: number) =>
      Array.from({ length: 200 }).reduce<Json>((inner) => ({ deeper: inner }), members(value))
    assert.isTrue(isGivenUp([{ id: 1, deep: deep(1) }], [{ id: 1, deep: deep(2) }]))
    const wide = (value: number) => Array.from({ length: 60_000 }, (_, id): Json => ({ id, a: value, b: value }))
    assert.isTrue(isGivenUp(wide(1), wide(2)))
  })

  it("pauses inside of one record", () => {
    const large = (value: number) => [
      { id: 1, ...Object.fromEntries(Array.from({ length: 90_000 }, (_, n) => [`m${n}`, n % 2 === 0 ? n : value])) }
    ]
    const work = compareLists({ source: large(1), target: large(2), key: ["id"], fields: null, ignore: [] })
    let pauses = 0
    while (work.next().done !== true) pauses += 1
    assert.isAtLeast(pauses, 4)
  })
})
