import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck as fc, Schema } from "effect"
import type { Json, JsonObject } from "../../../src/domain/Json.js"
import { mappingReferences } from "../../../src/domain/mapping/MappingChecks.js"
import { Mapping } from "../../../src/domain/mapping/Mapping.js"
import { evaluateMapping } from "../../../src/domain/mapping/MappingEvaluation.js"

const scope: JsonObject = {
  input: { id: 7, name: " Ada ", price: "9.995", none: null, raw: "{{input.id}}" },
  steps: { a: { output: { lines: [{ sku: "x" }] } } }
}
const mapped = (mapping: JsonObject, base: Json = {}) => evaluateMapping(mapping, base, scope)
const valueOf = (mapping: JsonObject, base?: Json): Json => {
  const { failures, value } = mapped(mapping, base)
  assert.deepStrictEqual(failures, [])
  return value
}
const mistakes = (mapping: JsonObject) =>
  mappingReferences(mapping, "mapping").mistakes.map(({ code, path }) => `${code} ${path}`)

describe("a mapping", () => {
  it("lays templates, literals and transformed values over the input", () => {
    const base = { kept: 1, customer: { name: "old", city: "London" }, list: [1, 2] }
    const before = JSON.stringify(base)
    assert.deepStrictEqual(
      valueOf(
        {
          "customer.name": { from: "input.name", transforms: ["TRIM", "UPPER"] },
          "customer.order.id": "{{input.id}}",
          label: "order {{input.id}}",
          "list[1]": true,
          "list[3].sku": "{{steps.a.output.lines[0].sku}}",
          total: { from: "{{input.gone ?? input.price}}", transforms: [{ fn: "ROUND", args: [2] }] },
          currency: { from: "input.currency", default: "EUR" },
          fallback: { from: "input.currency", default: ["{{input.id}}"] },
          nested: { a: ["{{input.id}}", null, 5], from_: "{{input.raw}}" }
        },
        base
      ),
      {
        kept: 1,
        customer: { name: "ADA", city: "London", order: { id: 7 } },
        list: [1, true, null, { sku: "x" }],
        label: "order 7",
        total: "10.00",
        currency: "EUR",
        fallback: [7],
        nested: { a: [7, null, 5], from_: "{{input.id}}" }
      }
    )
    assert.strictEqual(JSON.stringify(base), before)
  })

  it("evaluates nothing in the base, and does not change what it refers to", () => {
    const shared = JSON.stringify(scope)
    assert.deepStrictEqual(
      valueOf({ "a.lines[0].sku": 1, "a.lines[1]": 2, a: "{{steps.a.output}}" }, { b: "{{input.id}}" }),
      {
        b: "{{input.id}}",
        a: { lines: [{ sku: 1 }, 2] }
      }
    )
    assert.strictEqual(JSON.stringify(scope), shared)
  })

  it("sets what stands in the way: scalars, null, a list that is given a name; a number names a member of an object", () => {
    assert.deepStrictEqual(
      valueOf({ "a.b": 1, "c.d": 2, "e.f": 3, "g[0]": 4, "h.0": 5 }, { a: "x", c: null, e: [1], g: { x: 1 }, h: [0] }),
      {
        a: { b: 1 },
        c: { d: 2 },
        e: { f: 3 },
        g: { 0: 4, x: 1 },
        h: [5]
      }
    )
    assert.deepStrictEqual(valueOf({ $: "{{input.id}}" }, { a: 1 }), 7)
    assert.deepStrictEqual(valueOf({ a: 1 }, null), { a: 1 })
  })

  it("names the targets whose expressions gave null, also inside of texts and objects", () => {
    const { missing, value } = mapped({
      a: "{{input.gone}}",
      b: "to {{input.none}}!",
      c: { d: ["{{input.id}}", "{{input.gone}}"], "e f": "{{input.gone}}" },
      g: { from: "input.none", transforms: ["UPPER"] },
      h: { from: "input.none", default: "{{input.gone}}" },
      i: { from: "input.none", default: 0 },
      j: null
    })
    assert.deepStrictEqual(missing, ["a", "b", "c.d[1]", 'c["e f"]', "g", "h"])
    assert.deepStrictEqual(value, {
      a: null,
      b: "to !",
      c: { d: [7, null], "e f": null },
      g: null,
      h: null,
      i: 0,
      j: null
    })
  })

  it("names the targets that it cannot set, and sets the others", () => {
    const { failures, value } = mapped({
      "a b": 1,
      "c[-1]": 1,
      "d[20000]": 1,
      e: { from: "steps.a", transforms: ["UPPER"] },
      f: 1,
      g: { from: 1 }
    })
    assert.deepStrictEqual(
      failures.map(({ target }) => target),
      ["e", "g", "d[20000]", "a b", "c[-1]"]
    )
    assert.deepStrictEqual(value, { d: [], f: 1 })
  })

  it("makes names of prototypes own members", () => {
    const base: Json = JSON.parse('{"__proto__":{"a":1}}')
    const targets = { "__proto__.polluted": 1, "x.__proto__.y": 2, "constructor.prototype.z": 3, 'n["__proto__"]': 4 }
    const value = valueOf(targets, base)
    assert.strictEqual(
      JSON.stringify(value),
      '{"__proto__":{"a":1,"polluted":1},"n":{"__proto__":4},"constructor":{"prototype":{"z":3}},"x":{"__proto__":{"y":2}}}'
    )
    for (const name of ["polluted", "y", "z"]) assert.isUndefined(Reflect.get({}, name))
  })

  it.prop(
    "does not depend on the order of its members",
    [fc.dictionary(fc.stringMatching(/^[ab](?:\.[ab]|\[[01]\]){0,3}$/), fc.nat(9), { maxKeys: 6 }), fc.jsonValue()],
    ([mapping, json]) => {
      const base: Json = JSON.parse(JSON.stringify(json))
      const reversed = Object.fromEntries(Object.entries(mapping).toReversed())
      assert.deepStrictEqual(mapped(reversed, base), mapped(mapping, base))
    }
  )
})

describe("the mistakes of a mapping", () => {
  it("are all found, with their places", () => {
    assert.deepStrictEqual(
      mistakes({
        "a b": 1,
        "c[-1]": 1,
        d: "{{",
        'x["d"]': { deep: ["{{f()}}"] },
        "x.d": 1,
        e: { from: 5, transforms: ["SHOUT", "COALESCE(a b)", "TRIM"], default: "{{}}", to: 1 },
        f: { from: "a b", transforms: "UPPER" },
        g: { from: "{{a", transforms: Array.from({ length: 33 }, () => "TRIM") },
        "h[9999].i[1]": 1
      }),
      [
        'INVALID_PATH mapping["a b"]',
        'INVALID_PATH mapping["c[-1]"]',
        'DUPLICATE mapping["x.d"]',
        "OUT_OF_RANGE mapping",
        "INVALID_TEMPLATE mapping.d",
        'INVALID_TEMPLATE mapping["x["d"]"].deep[0]',
        "UNKNOWN_FIELD mapping.e.to",
        "INVALID_TYPE mapping.e.from",
        "INVALID_VALUE mapping.e.transforms[0]",
        "INVALID_VALUE mapping.e.transforms[1]",
        "INVALID_TEMPLATE mapping.e.default",
        "INVALID_PATH mapping.f.from",
        "INVALID_TYPE mapping.f.transforms",
        "INVALID_TEMPLATE mapping.g.from",
        "OUT_OF_RANGE mapping.g.transforms"
      ]
    )
  })

  it("come with the paths that it reads, those of transforms and defaults too", () => {
    const { mistakes: found, references } = mappingReferences(
      {
        a: "{{steps.a.output ?? input.x}}",
        b: {
          from: "steps.b.output",
          transforms: ['CONCAT("", input.y)', "COALESCE($.item)"],
          default: { z: "{{index}}" }
        },
        c: ["plain"]
      },
      "mapping"
    )
    assert.deepStrictEqual(found, [])
    assert.deepStrictEqual(
      references.map(({ at, path }) => `${at} ${path.join(".")}`),
      [
        "mapping.a steps.a.output",
        "mapping.a input.x",
        "mapping.b.from steps.b.output",
        "mapping.b.transforms[0] input.y",
        "mapping.b.transforms[1] item",
        "mapping.b.default.z index"
      ]
    )
  })

  const target = fc.stringMatching(/^(?:[ab]|__proto__)(?:\.[ab01]|\[\d{1,4}\]){0,4}$/)
  it.prop(
    "are found before: a mapping without any sets each target",
    [fc.dictionary(target, fc.constant(1)), fc.jsonValue()],
    ([mapping, json]) => {
      const base: Json = JSON.parse(JSON.stringify(json))
      if (mappingReferences(mapping, "mapping").mistakes.length === 0)
        assert.deepStrictEqual(mapped(mapping, base).failures, [])
    }
  )

  it("are none of the schema, which accepts any value of a target", () => {
    const decode = Schema.decodeUnknownEither(Mapping)
    assert.isTrue(
      Either.isRight(
        decode({ a: { from: "a", transforms: ["TRIM", { fn: "ROUND" }], default: null }, b: "{{x}}", c: [{}] })
      )
    )
    assert.isTrue(Either.isLeft(decode(["a"])))
  })
})
