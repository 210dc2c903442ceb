/** Messages about JSON Schemas and values say what is expected. */
import { assert, describe, it } from "@effect/vitest"
import type { Json, JsonObject } from "../../src/domain/Json.js"
import { compileSchema, findSchemaMistakes } from "../../src/runtime/computing/worker/Contracts.js"

const messages = (schema: JsonObject, value: Json) =>
  compileSchema(schema)(value).map(({ message, path }) => `${path}: ${message}`)

describe("A value that violates its schema", () => {
  it("gets the pattern in the message, wherever the schema has it", () => {
    const url = { type: "string", pattern: "^https://" }
    const told = "must match the pattern ^https://"
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
    ["the choices", { enum: ["a", "b"] }, "c", 'must be one of "a", "b"'],
    ["the one value", { const: 7 }, 8, "7"],
    ["the type", { type: ["string", "null"] }, 8, "must be a text or null"],
    ["the least number", { minimum: 3 }, 2, "3"],
    ["the greatest number", { maximum: 3 }, 4, "3"],
    ["the bound below", { exclusiveMinimum: 3 }, 3, "must be more than 3"],
    ["the bound above", { exclusiveMaximum: 3 }, 3, "must be less than 3"],
    ["the step", { multipleOf: 5 }, 3, "5"],
    ["the least length", { minLength: 3 }, "ab", "3"],
    ["the greatest length", { maxLength: 3 }, "abcd", "3"],
    ["the least number of items", { minItems: 3 }, [1], "3"],
    ["the greatest number of items", { maxItems: 1 }, [1, 2], "1"],
    ["the least number of members", { minProperties: 2 }, {}, "2"],
    ["the greatest number of members", { maxProperties: 1 }, { a: 1, b: 2 }, "at most 1 members"],
    ["the format", { format: "email" }, "x", "email"],
    ["the member that is missing", { required: ["name"] }, {}, "must have the member name"],
    ["that it does not belong", { properties: {}, additionalProperties: false }, { more: 1 }, "not allowed here"]
  ])("gets the message: %s", (_, schema, value, expected) => {
    const [first = ""] = messages(schema, value)
    assert.include(first, expected)
    assert.notMatch(first, /Instance|String|Array |Property/)
  })

  it("gets a bounded number of errors with bounded messages", () => {
    const [first = ""] = messages({ enum: Array.from({ length: 1_000 }, (_, at) => `choice ${at}`) }, "x")
    assert.isAtMost(first.length, 510)
  })
})

describe("A schema that cannot be used", () => {
  const mistakes = (schema: JsonObject) => findSchemaMistakes(schema).map(({ message, path }) => `${path}: ${message}`)

  it.each<[string, JsonObject, RegExp]>([
    [
      "a pattern that is none, however deep",
      { properties: { a: { items: { pattern: "(" } } } },
      /^properties\.a\.items\.pattern: /
    ],
    ["a pattern of member names that is none", { patternProperties: { "[": {} } }, /^patternProperties: /],
    ["a pattern behind a choice", { anyOf: [{}, { not: { pattern: "(?<" } }] }, /^anyOf\[1\]\.not\.pattern: /],
    ["a pattern too long to be read", { pattern: "a".repeat(1_001) }, /more than 1000 characters/],
    [
      "a reference to nothing",
      { properties: { a: { $ref: "#/$defs/b" } } },
      /^properties\.a\.\$ref: "#\/\$defs\/b" names no schema/
    ],
    ["a reference to the outside", { $ref: "https://example.com/schema.json" }, /names no schema within this one/],
    ["a reference that is no text", { $ref: 7 }, /^\$ref: must be a text/],
    ["a reference to itself", { $ref: "#" }, /refers to itself without end/],
    [
      "references in a circle, through choices",
      { $defs: { a: { anyOf: [{ $ref: "#/$defs/b" }] }, b: { not: { $ref: "#/$defs/a" } } } },
      /refers to itself without end/
    ],
    ["choices that are no list", { oneOf: {} }, /^oneOf: must be an array of schemas/],
    ["a count that is none", { items: { maxLength: "3" } }, /^items\.maxLength: must be a whole number/]
  ])("is refused for %s", (_, schema, expected) => {
    assert.match(mistakes(schema)[0] ?? "", expected)
  })

  it("does not include a schema that refers to itself for trees and lists", () => {
    const tree: JsonObject = {
      type: "object",
      properties: { name: { type: "string" }, children: { type: "array", items: { $ref: "#" } } },
      required: ["name"]
    }
    assert.deepStrictEqual(mistakes(tree), [])
    assert.deepStrictEqual(messages(tree, { name: "a", children: [{ name: "b" }] }), [])
    assert.lengthOf(messages(tree, { name: "a", children: [{}] }), 1)
  })
})
