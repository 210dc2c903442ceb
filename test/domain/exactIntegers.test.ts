/** Integers beyond 2^53 keep their digits through what is made of an answer, and in what polls recognise. */
import { assert, describe, it } from "@effect/vitest"
import { Either, Schema } from "effect"
import { createHash } from "node:crypto"
import { askedTexts, everyText } from "../../src/domain/AskedTexts.js"
import { ActionDefinition } from "../../src/domain/connector/Action.js"
import { actionAnswer } from "../../src/domain/connector/request/ActionAnswer.js"
import { withoutPageMemory } from "../../src/domain/connector/request/PageMemory.js"
import { noPatterns } from "../../src/domain/expression/PatternProgram.js"
import { keepIntegers } from "../../src/domain/connector/request/ExactIntegers.js"
import { firstRounded, isSchemaBound } from "../../src/domain/LargeIntegers.js"
import { type ListedItem, pollDifference } from "../../src/domain/trigger/Poll.js"

const large = "7615917337495251231"
const rounded = 7615917337495251000

describe("what is made of a text with large integers", () => {
  it("has their digits where a text is asked for and inside of texts, and says which were rounded", () => {
    const plain = {
      id: rounded,
      name: `order ${rounded}`,
      even: 9007199254740992,
      lines: [{ id: rounded }],
      rest: null
    }
    const exact = { id: large, name: `order ${large}`, even: "9007199254740992", lines: [{ id: large }], rest: null }
    const schema = { properties: { lines: { items: { properties: { id: { type: "string" } } } } } }
    assert.deepStrictEqual(keepIntegers(plain, exact, askedTexts([schema])), {
      value: { ...plain, name: exact.name, lines: exact.lines },
      rounded: { paths: ["id"], more: false }
    })
    assert.deepStrictEqual(keepIntegers(plain, exact, everyText), { value: exact, rounded: undefined })
    assert.strictEqual(keepIntegers(plain, plain, everyText).value, plain)
  })

  it("is the plain one where the two differ in another way", () => {
    const plain = { list: [rounded], some: { a: 1 }, text: "x" }
    const kept = keepIntegers(plain, { list: [large, large], some: [large], text: 1 }, everyText)
    assert.deepStrictEqual(kept, { value: plain, rounded: undefined })
  })

  it.each([
    [`{"a":[1,{"id":${large}}]}`, "a[1].id"],
    [`{"id":"${large}","n":9007199254740992,"m":1e30,"big":10000000000000000000000}`, undefined],
    [JSON.stringify({ id: rounded, other: 2 ** 63 }), undefined],
    [`{"schema":{"properties":{"id":{"maximum":9223372036854775807,"minimum":-9223372036854775807}}}}`, undefined],
    [`{"schema":{"properties":{"id":{"const":9223372036854775807}}}}`, "schema.properties.id.const"]
  ])("%s would be rounded at %s", (text, path) => {
    assert.strictEqual(firstRounded(text, isSchemaBound), path)
  })
})

describe("an answer with large integers", () => {
  const action = (more: object) =>
    Schema.decodeUnknownSync(ActionDefinition)({
      name: "list",
      version: 1,
      request: { method: "GET", path: "/" },
      ...more
    })
  const read = (text: string, more: object, encoding: BufferEncoding = "utf8", type = "application/json") => {
    const headers = [["content-type", type]] as const
    const answer = { status: 200, headers, body: Buffer.from(text, encoding) }
    return Either.getOrThrow(
      finish(actionAnswer({}, action(more), { answer, url: "https://a.example/", args: {} }, 0, noPatterns))
    )
  }
  /** Without turns for others between the slices. */
  const finish = <A>(work: Generator<void, A, void>): A => {
    for (;;) {
      const next = work.next()
      if (next.done === true) return next.value
    }
  }

  it("has its next cursor digit by digit, wherever it stands and however the list is mapped", () => {
    const cursor = { type: "cursor", param: "c" }
    const next = (text: string, path: string, more = {}) =>
      withoutPageMemory(read(text, { pagination: { ...cursor, next: path }, ...more }).next)
    assert.deepStrictEqual(next(`{"next":${large}}`, "$.next"), { c: large })
    assert.deepStrictEqual(
      next(`{"data":[{"id":1},{"id":${large}}]}`, "$.data[-1].id", { response: { map: "$.data" } }),
      { c: large }
    )
    assert.deepStrictEqual(next(`{"next":17}`, "$.next"), { c: 17 })
  })

  it("is exact through its map, in UTF-16 as well", () => {
    const response = { map: { id: "{{body.id}}", url: "/orders/{{body.id}}", n: "{{body.n}}" } }
    const schema = { outputSchema: { properties: { id: { type: "string" } } }, response }
    const expected = { id: large, url: `/orders/${large}`, n: rounded }
    for (const [encoding, type] of [
      ["utf8", "application/json"],
      ["utf16le", "application/json; charset=utf-16le"]
    ] as const) {
      const { exact, result, rounded: paths } = read(`{"id":${large},"n":${large}}`, schema, encoding, type)
      assert.deepStrictEqual([result, exact, paths?.paths], [expected, { ...expected, n: large }, ["n"]])
    }
  })

  it("is left alone where it is read as text, and is one value where it has none", () => {
    const text = `{"id":${large}}`
    assert.strictEqual(read(text, { response: { type: "text" } }).result, text)
    const { exact, result } = read(`{"id":1}`, {})
    assert.strictEqual(exact, result)
  })
})

describe("a poll of items with large ids", () => {
  const sha = (text: string) => createHash("sha256").update(text).digest("hex")
  const item = (id: string, name = "n"): ListedItem => ({ item: { id: Number(id), name }, exact: { id, name } })
  const small: ListedItem = (({ item }) => ({ item, exact: item }))({ item: { id: 1, name: "n" } })
  const differ = (items: ReadonlyArray<ListedItem>, seen: ReadonlyMap<string, string>, rule: object = {}) =>
    pollDifference({ key: "$.id", ...rule }, items, seen, true, sha)
  const seenAfter = (items: ReadonlyArray<ListedItem>, rule: object = {}) =>
    new Map(differ(items, new Map(), rule).stored.map(({ hash, key }) => [key, hash]))
  const told = ({ changes }: ReturnType<typeof differ>) => changes.map(({ action, key }) => `${action} ${key}`)

  it("tells apart ids that are the same number, also those seen before and changed at the same time", () => {
    const rule = { changedAt: "$.name" }
    const [first, second] = [item("9007199254740992"), item("9007199254740993")]
    assert.deepStrictEqual(told(differ([first, second], new Map())), [
      "created 9007199254740992",
      "created 9007199254740993"
    ])
    assert.deepStrictEqual(told(differ([second], seenAfter([first], rule), rule)), [
      "created 9007199254740993",
      "deleted 9007199254740992"
    ])
  })

  it("takes over what was stored under the rounded id, without an event", () => {
    const before = new Map([
      [String(rounded), sha(JSON.stringify({ id: rounded, name: "n" }))],
      ["1", sha(JSON.stringify({ id: 1, name: "n" }))]
    ])
    const taken = differ([item(large), small], before)
    assert.deepStrictEqual(
      [told(taken), taken.stored.map(({ key }) => key), taken.removed],
      [[], [large], [String(rounded)]]
    )
    const after = new Map([...before, ...taken.stored.map(({ hash, key }) => [key, hash] as const)])
    after.delete(String(rounded))
    assert.deepStrictEqual(told(differ([item(large), small], after)), [])
    assert.deepStrictEqual(told(differ([item(large, "other"), small], after)), [`updated ${large}`])
    assert.deepStrictEqual(told(differ([item(large, "other"), small], before)), [
      `created ${large}`,
      `deleted ${rounded}`
    ])
  })
})
