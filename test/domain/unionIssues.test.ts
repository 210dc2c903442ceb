/** A wrong member inside of a union is named as what it must be, and the alternatives that were not meant say nothing. */
import { assert, describe, it } from "@effect/vitest"
import { Either, Schema } from "effect"
import { AuthMethod } from "../../src/domain/connector/AuthMethod.js"
import { Condition } from "../../src/domain/expression/Condition.js"
import { FlowSpec } from "../../src/domain/flow/Spec.js"
import { detailsOf } from "../../src/domain/Issues.js"
import { decodeStrict } from "../../src/domain/SchemaIssues.js"

const mistakes = <A, I>(schema: Schema.Schema<A, I>, value: unknown) =>
  Either.match(decodeStrict(schema)(value), {
    onLeft: (issues) => detailsOf(issues, "is unknown").map(({ message, path }) => `${path} ${message}`),
    onRight: () => []
  })

describe("a condition", () => {
  it.each([
    [{ path: "input.x", op: "equals", value: 1 }, "op", /^op must be "eq", "neq",/],
    [{ path: 5, op: "eq", value: 1 }, "path", /^path must be a string$/],
    [{ path: "input.x", op: "eq", valeu: 1 }, "valeu", /^valeu is unknown$/],
    [{ path: "input.x" }, "op", /^op is required$/],
    [{ all: [{ path: "input.x", op: "equals" }] }, "all[0].op", /^all\[0\]\.op must be "eq",/],
    [{ not: { any: [{ path: 1, op: "eq" }] } }, "not.any[0].path", /^not\.any\[0\]\.path must be a string$/],
    [{ all: { path: "input.x", op: "eq" } }, "all", /^all must be a list$/],
    [{ all: [], any: [] }, "any", /^any is unknown$/],
    [{ equals: 1 }, "the whole", /^ must have all, any, not or path with op$/],
    [{}, "the whole", /^ must have all, any, not or path with op$/],
    ["input.x", "the whole", /^ must be an object$/]
  ])("%j: %s", (value, _, expected) => {
    const found = mistakes(Condition, value)
    assert.lengthOf(found, 1, found.join("\n"))
    assert.match(found[0] ?? "", expected)
  })
})

describe("a flow", () => {
  const step = { name: "a", type: "action" }
  it.each([
    [{ steps: [{ ...step, when: { path: "input.x", op: "equals" } }] }, /^steps\[0\]\.when\.op must be "eq",/],
    [
      { steps: [step], trigger: { type: "schedule" } },
      /^trigger\.type must be "webhook", "cron", "manual" or "event"$/
    ],
    [{ steps: [step], trigger: {} }, /^trigger\.type is required$/],
    [{ steps: [step], trigger: 5 }, /^trigger must be an object or null$/],
    [
      { steps: [step], response: { success: { status: 99 } } },
      /^response\.success\.status must be .*between 200 and 599$/
    ],
    [{ steps: [step], customAuth: { type: "basic" } }, /^customAuth\.type must be "bearer", "header" or "workflow"$/]
  ])("%j", (value, expected) => {
    const found = mistakes(FlowSpec, value)
    assert.lengthOf(found, 1, found.join("\n"))
    assert.match(found[0] ?? "", expected)
  })
})

describe("other unions", () => {
  it("a way to sign in is the one of its type", () => {
    const found = mistakes(AuthMethod, { id: "key", type: "basic", fields: [{ name: 5 }] })
    assert.isTrue(
      found.some((line) => line.startsWith("fields[0].name must be a string")),
      found.join("\n")
    )
    assert.isFalse(
      found.some((line) => line.startsWith("type")),
      found.join("\n")
    )
  })

  it("a list's item is named where a text or one object would do as well", () => {
    const One = Schema.Struct({ name: Schema.String })
    assert.deepStrictEqual(mistakes(Schema.Union(Schema.String, One, Schema.Array(One)), [{ name: 5 }]), [
      "[0].name must be a string"
    ])
  })

  it("an optional discriminator decides like a required one", () => {
    const optional = (type: "a" | "b") => Schema.optional(Schema.Literal(type))
    const Both = Schema.Union(
      Schema.Struct({ type: optional("a"), x: Schema.Number, y: Schema.Number }),
      Schema.Struct({ type: optional("b"), z: Schema.Number })
    )
    assert.deepStrictEqual(mistakes(Both, { type: "b", x: 1, y: 1 }), ["x is unknown", "y is unknown", "z is required"])
  })

  it("a value of no alternative's kind has all of them", () =>
    assert.deepStrictEqual(mistakes(Schema.Union(Schema.String, Schema.Number), true), [
      " must be a string or a number"
    ]))
})
