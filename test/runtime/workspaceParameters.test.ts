/** A value of any type that svc.db returns is the same value of its type as a parameter. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { types } from "pg"
import { DbRefused } from "../../src/actors/ports/run/WorkspaceDb.js"
import { workspaceDb } from "../../src/domain/Limits.js"
import type { Json } from "../../src/domain/Json.js"
import { encodeParameters, type Scalar, Unsendable } from "../../src/runtime/workspace/Parameters.js"
import { valueOf } from "../../src/runtime/workspace/Values.js"
import { newCaller, type RunningWorkspaces, startWorkspaces } from "../support/workspaces.js"

const { builtins } = types

/** A type, a value as Postgres writes it, and as the workflow gets it. */
const values: ReadonlyArray<readonly [type: string, text: string, value: Json]> = [
  ["boolean", "t", true],
  ["smallint", "-7", -7],
  ["integer", "42", 42],
  ["bigint", "9007199254740993", "9007199254740993"],
  ["real", "1.5", 1.5],
  ["double precision", "NaN", "NaN"],
  ["numeric", "9007199254740993.10", "9007199254740993.10"],
  ["money", "$1.10", "$1.10"],
  ["text", 'a "b" \\ {c}, NULL', 'a "b" \\ {c}, NULL'],
  ["varchar", "a", "a"],
  ["bytea", "\\x0102ff", "\\x0102ff"],
  ["uuid", "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000001"],
  ["date", "2026-01-31", "2026-01-31"],
  ["time", "07:10:41.123456", "07:10:41.123456"],
  ["timetz", "07:10:41+02", "07:10:41+02"],
  ["timestamp", "2026-01-31 07:10:41.5", "2026-01-31 07:10:41.5"],
  ["timestamptz", "2026-01-31 07:10:41.5+00", "2026-01-31T07:10:41.500Z"],
  ["timestamptz", "2026-01-31 07:10:41.123456+00", "2026-01-31T07:10:41.123456Z"],
  ["timestamptz", "0050-01-01 00:00:00+00", "0050-01-01T00:00:00.000Z"],
  ["timestamptz", "infinity", "infinity"],
  ["interval", "1 year 2 days 03:04:05.6", "1 year 2 days 03:04:05.6"],
  ["inet", "10.0.0.1", "10.0.0.1"],
  ["cidr", "10.0.0.0/8", "10.0.0.0/8"],
  ["bit varying", "101", "101"],
  ["int4range", "[1,5)", "[1,5)"],
  ["json", '{"a":[1,"b",null]}', { a: [1, "b", null] }],
  ["jsonb", '[1, "b", {"c": []}]', [1, "b", { c: [] }]],
  ["jsonb", "[]", []]
]

const read = (oid: number, text: string) => valueOf(oid, text, { left: workspaceDb.values })

describe("A parameter", () => {
  let world: RunningWorkspaces
  beforeAll(async () => {
    world = await startWorkspaces()
  })
  afterAll(() => world.stop())

  it("is the value of its type that a statement returned, alone, in an array, and in a transaction", async () => {
    const caller = newCaller()
    const begun = await world.outcome(world.db.begin(caller))
    if (begun instanceof DbRefused) throw begun
    for (const [type, text, value] of values) {
      const first = await world.query(
        caller,
        `SELECT $1::text::${type} AS one, ARRAY[$1::text::${type}, NULL] AS many`,
        [text]
      )
      assert.deepStrictEqual(
        first instanceof DbRefused ? first : first.rows,
        [{ one: value, many: [value, null] }],
        type
      )
      for (const transaction of [null, begun]) {
        const again = await world.query(
          caller,
          `SELECT $1::${type} AS one, $2::${type}[] AS many, $1::${type}::text = $3::text::${type}::text AS same, ($2::${type}[])[1]::text = $3::text::${type}::text AS "sameInArray"`,
          [value, [value, null], text],
          transaction
        )
        const expected = [{ one: value, many: [value, null], same: true, sameInArray: true }]
        assert.deepStrictEqual(again instanceof DbRefused ? again : again.rows, expected, type)
      }
    }
  })

  it("that does not fit its type, and a wrong statement, are refused by name, and leave the transaction open", async () => {
    const caller = newCaller()
    const begun = await world.outcome(world.db.begin(caller))
    if (begun instanceof DbRefused) throw begun
    const refused = await world.query(caller, "SELECT $1::bytea", [{ 0: 1 }], begun)
    assert.isTrue(
      refused instanceof DbRefused && refused.code === "PARAMETER_TYPE" && refused.message.startsWith("$1 ")
    )
    const next = await world.query(caller, "SELECT 1 AS n", [], begun)
    assert.deepStrictEqual(next instanceof DbRefused ? next : next.rows, [{ n: 1 }])
    const wrong = await world.query(caller, "SELECT nothing, $1::jsonb", [[]])
    assert.deepInclude(wrong, { code: "42703", position: 8 })
  })
})

describe("encodeParameters", () => {
  const rows: ReadonlyArray<readonly [oid: number | undefined, value: Json, text: Scalar]> = [
    [builtins.JSONB, "text of JSON", "text of JSON"],
    [builtins.JSON, [], "[]"],
    [3807, [[1], { a: '"' }, "b", null], '{"[1]","{\\"a\\":\\"\\\\\\"\\"}","\\"b\\"",NULL}'],
    [
      1007,
      [
        [1, 2],
        [3, null]
      ],
      '{{"1","2"},{"3",NULL}}'
    ],
    [1009, ["", "NULL", 'a"\\'], '{"","NULL","a\\"\\\\"}'],
    [undefined, ["a"], '{"a"}'],
    [builtins.TEXT, { a: 1 }, '{"a":1}']
  ]
  it.each(rows)("writes for type %s the value %j", (oid, value, text) => {
    assert.deepStrictEqual(encodeParameters([value], oid === undefined ? [] : [oid]), [text])
  })
  it("refuses objects and lists for bytes, and names the parameter", () => {
    const wrong: ReadonlyArray<readonly [oid: number, value: Json]> = [
      [builtins.BYTEA, {}],
      [builtins.BYTEA, ["a"]],
      [1001, [{ 0: 1 }]]
    ]
    for (const [oid, value] of wrong) {
      let refusal: unknown
      try {
        encodeParameters([null, value], [0, oid])
      } catch (cause) {
        refusal = cause
      }
      assert.isTrue(refusal instanceof Unsendable && refusal.message.startsWith("$2 is a bytea"))
    }
  })
})

describe("valueOf", () => {
  it("keeps a time that ISO 8601 writes otherwise, and the text of an unknown array", () => {
    for (const text of [
      "0044-03-15 00:00:00+00 BC",
      "10000-01-01 00:00:00+00",
      "9999-12-31 23:00:00-05",
      "1800-01-01 00:00:00+00:53:28"
    ])
      assert.strictEqual(read(builtins.TIMESTAMPTZ, text), text)
    assert.strictEqual(read(99_999, "{a,b}"), "{a,b}")
  })
  it("reads arrays of JSON within the bounds of one JSON value", () => {
    const nested = (depth: number) => `{${"[".repeat(depth)}${"]".repeat(depth)}}`
    assert.deepStrictEqual(read(3807, '{"{\\"a\\":1}",NULL,2}'), [{ a: 1 }, null, 2])
    assert.isArray(read(199, nested(63)))
    assert.throws(() => read(199, nested(64)))
  })
})
