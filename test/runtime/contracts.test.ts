/** What a JSON Schema finds wrong is said so that it can be mended. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Contracts } from "../../src/actors/ports/Contracts.js"
import type { Json, JsonObject } from "../../src/domain/Json.js"
import { layer } from "../../src/runtime/Contracts.js"

const messages = (schema: JsonObject, value: Json) =>
  Effect.runSync(
    Effect.provide(
      Effect.map(Contracts, ({ violations }) =>
        violations(schema, value).map(({ message, path }) => `${path}: ${message}`)
      ),
      layer
    )
  )

describe("A value that breaks its schema", () => {
  it("is told the pattern, wherever the schema has it", () => {
    const url = { type: "string", pattern: "^https://" }
    const told = "String does not match the pattern ^https://"
    assert.deepStrictEqual(messages({ properties: { baseUrl: url } }, { baseUrl: "x" }), [`baseUrl: ${told}`])
    assert.deepStrictEqual(messages({ items: url }, ["x"]), [`[0]: ${told}`])
    const referred = { properties: { "a/b": { $ref: "#/$defs/url" } }, $defs: { url } }
    assert.include(messages(referred, { "a/b": "x" }), `a/b: ${told}`)
    assert.include(
      messages({ $defs: { all: { allOf: [{ $ref: "#/$defs/url" }] }, url }, $ref: "#/$defs/all" }, "x"),
      `: ${told}`
    )
  })

  it.each<[string, JsonObject, Json, string]>([
    ["the choices", { enum: ["a", "b"] }, "c", '["a","b"]'],
    ["the one value", { const: 7 }, 8, "7"],
    ["the type", { type: ["string", "null"] }, 8, '"string", "null"'],
    ["the least number", { minimum: 3 }, 2, "3"],
    ["the greatest number", { maximum: 3 }, 4, "3"],
    ["the bound below", { exclusiveMinimum: 3 }, 3, "not greater than 3"],
    ["the bound above", { exclusiveMaximum: 3 }, 3, "not less than 3"],
    ["the step", { multipleOf: 5 }, 3, "5"],
    ["the least length", { minLength: 3 }, "ab", "3"],
    ["the greatest length", { maxLength: 3 }, "abcd", "3"],
    ["the least number of items", { minItems: 3 }, [1], "3"],
    ["the greatest number of items", { maxItems: 1 }, [1, 2], "1"],
    ["the least number of members", { minProperties: 2 }, {}, "2"],
    ["the greatest number of members", { maxProperties: 1 }, { a: 1, b: 2 }, "more than 1"],
    ["the format", { format: "email" }, "x", "email"],
    ["the member that is missing", { required: ["name"] }, {}, "name"],
    ["that it does not belong", { properties: {}, additionalProperties: false }, { more: 1 }, "not allowed here"]
  ])("is told %s", (_, schema, value, expected) => {
    const [first = ""] = messages(schema, value)
    assert.include(first, expected)
  })

  it("gets no longer an answer than can be read", () => {
    const [first = ""] = messages({ enum: Array.from({ length: 1_000 }, (_, at) => `choice ${at}`) }, "x")
    assert.isAtMost(first.length, 510)
  })
})
