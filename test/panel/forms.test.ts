/** Forms of schemas: what is stored comes back as it was, what is entered is sent as JSON, and mistakes stand at their fields. */
import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { enteredMistakes, entryOf, type FormValues, initialValues } from "../../src/http/web/panel/forms/Form.js"
import {
  fieldsOfForm,
  formBody,
  formMistakes,
  hasFields,
  refusedValues,
  schemaForm,
  type SchemaObject
} from "../../src/http/web/panel/forms/SchemaForm.js"
import { english } from "../../src/http/web/panel/texts/en.js"

const { wrong } = english
const objectOf = (properties: object, more: object = {}) => ({ type: "object", properties, ...more })

/** The form with what is entered, by paths. */
const filled = (schema: SchemaObject, entered: Readonly<Record<string, string>> = {}, stored: SchemaObject = {}) => {
  const form = schemaForm(schema, stored, "config")
  const fields = fieldsOfForm(form)
  const nameOf = (path: string) => fields.find((field) => field.path === path)?.name ?? assert.fail(`no field ${path}`)
  const values: FormValues = {
    ...initialValues(fields),
    ...Object.fromEntries(Object.entries(entered).map(([path, text]) => [nameOf(path), text]))
  }
  const byPath = (mistakes: Readonly<Record<string, string>>) =>
    Object.fromEntries(
      Object.entries(mistakes).map(([name, text]) => [fields.find((one) => one.name === name)?.path ?? name, text])
    )
  return {
    form,
    fields,
    values,
    body: formBody(form, values),
    mistakes: byPath(formMistakes(english, form, values)),
    refused: (...paths: ReadonlyArray<string>) =>
      byPath(
        refusedValues(
          english,
          form,
          paths.map((path) => ({ path }))
        )
      )
  }
}

/** Names that objects have, or that have the signs of paths. */
const name = fc.oneof(
  fc.constantFrom("__proto__", "constructor", "toString", "hasOwnProperty", "a.b", "form", '["a"]', "ü"),
  fc.string({ minLength: 1, maxLength: 8 })
)
const text = fc.string({ minLength: 1 }).filter((one) => one.trim() !== "")
const leaf = fc.oneof(
  text.map((value) => ({ schema: { type: "string" }, value })),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => ({
    schema: { type: "number" },
    // JSON has no negative zero.
    value: value === 0 ? 0 : value
  })),
  fc.maxSafeInteger().map((value) => ({ schema: { type: "integer" }, value })),
  fc.boolean().map((value) => ({ schema: { type: "boolean" }, value })),
  fc.uniqueArray(text, { minLength: 1, maxLength: 4 }).map((options) => ({
    schema: { enum: options },
    value: options[0] ?? ""
  }))
)
interface Made {
  readonly schema: object
  readonly value: unknown
}
const objectMade = (members: ReadonlyArray<readonly [string, Made]>): Made => ({
  schema: objectOf(Object.fromEntries(members.map(([one, { schema }]) => [one, schema])), {
    required: members.map(([one]) => one)
  }),
  value: Object.fromEntries(members.map(([one, { value }]) => [one, value]))
})
const members = (made: fc.Arbitrary<Made>) =>
  fc
    .uniqueArray(fc.tuple(name, made), { maxLength: 5, selector: ([one]) => one })
    .map((all) => objectMade(all as ReadonlyArray<readonly [string, Made]>))
const anySchema = members(fc.oneof(leaf, members(leaf)))

describe("what is stored", () => {
  it("is sent as it was, whatever the properties are named", () => {
    fc.assert(
      fc.property(anySchema, ({ schema, value }) => {
        const { body, mistakes } = filled(schema as SchemaObject, {}, value as SchemaObject)
        // As texts: `__proto__` is a member as others are.
        assert.strictEqual(JSON.stringify(body), JSON.stringify(value))
        assert.deepStrictEqual(mistakes, {})
      }),
      { numRuns: 500 }
    )
    assert.isUndefined(({} as { readonly default?: unknown }).default)
  })

  it("of another type than the schema has now gives way to what the schema has, or to nothing", () => {
    const schema = objectOf({
      days: { type: "integer", default: 7 },
      tag: { type: "string" },
      mode: { enum: ["a", "b"], default: "b" },
      is: { type: "boolean" },
      window: objectOf({ from: { type: "number" } })
    })
    const stored = { days: "9", tag: 1, mode: "c", is: "true", window: "none" }
    assert.deepStrictEqual(filled(schema, {}, stored).body, { days: 7, mode: "b", is: false })
  })

  it("and has no field stays in its group, if the group allows it", () => {
    const group = { type: "object", properties: { from: { type: "number" } } }
    const stored = { window: { from: 1, more: [1] } }
    const open = objectOf({ window: { ...group, additionalProperties: true } })
    assert.deepStrictEqual(filled(open, { "config.window.from": "2" }, stored).body, { window: { from: 2, more: [1] } })
    assert.deepStrictEqual(filled(objectOf({ window: group }), {}, stored).body, { window: { from: 1 } })
  })

  it("comes before the default, which comes before nothing", () => {
    const schema = objectOf({ one: { type: "string", default: "d" }, two: { type: "string", default: "d" } })
    assert.deepStrictEqual(filled(schema, {}, { one: "s" }).body, { one: "s", two: "d" })
  })

  it("that can only be read is shown and sent, and not shown without a value", () => {
    const schema = objectOf({ id: { type: "string", readOnly: true }, no: { type: "string", readOnly: true } })
    const { body, fields } = filled(schema, {}, { id: "x" })
    assert.deepStrictEqual(body, { id: "x" })
    assert.deepStrictEqual(
      fields.map(({ isFixed, path }) => [path, isFixed]),
      [["config.id", true]]
    )
  })
})

describe("what is entered", () => {
  const schema = objectOf(
    {
      days: { type: "integer" },
      share: { type: "number" },
      is: { type: "boolean" },
      tag: { type: "string" },
      mode: { enum: ["", " a "] },
      window: objectOf({ from: { type: "number" }, is: { type: "boolean" } }, { required: ["from"] })
    },
    { required: ["days"] }
  )
  it("is sent as numbers, ticks and texts, without what was left empty", () => {
    assert.deepStrictEqual(filled(schema, { "config.days": " 7 " }).body, { days: 7, is: false })
    const entered = {
      "config.days": "-1e2",
      "config.share": "+.5",
      "config.is": "true",
      "config.tag": "  a b ",
      "config.mode": " a ",
      "config.window.from": "0"
    }
    assert.deepStrictEqual(filled(schema, entered).body, {
      days: -100,
      share: 0.5,
      is: true,
      tag: "a b",
      mode: " a ",
      window: { from: 0, is: false }
    })
  })

  it("into a group that may be missing has to be whole only if there is any of it", () => {
    const days = { "config.days": "1" }
    assert.deepStrictEqual(filled(schema, days).mistakes, {})
    assert.deepStrictEqual(filled(schema, { ...days, "config.window.is": "true" }).mistakes, {
      "config.window.from": wrong.required
    })
    const needed = objectOf(
      { window: objectOf({ from: { type: "number" } }, { required: ["from"] }) },
      { required: ["window"] }
    )
    assert.deepStrictEqual(filled(needed).mistakes, { "config.window.from": wrong.required })
    assert.deepStrictEqual(filled(needed).body, { window: {} })
  })

  it.each([
    [{ type: "string" }, " ", wrong.required],
    [{ type: "string", minLength: 2 }, "😀", wrong.shortest(2)],
    [{ type: "string", minLength: 2 }, "😀😀", undefined],
    [{ type: "string", maxLength: 1 }, "😀", undefined],
    [{ type: "string", maxLength: 1 }, "ab", wrong.longest(1)],
    [{ enum: ["a"] }, "b", wrong.choice],
    [{ enum: ["", "a"] }, "", undefined],
    [{ type: "number" }, "1,5", wrong.number],
    [{ type: "number" }, "0x10", wrong.number],
    [{ type: "number" }, "Infinity", wrong.number],
    [{ type: "number" }, "1e400", wrong.number],
    [{ type: "integer" }, "1.5", wrong.wholeNumber],
    [{ type: "integer" }, "9007199254740993", wrong.upTo(Number.MAX_SAFE_INTEGER)],
    [{ type: "integer" }, "-9007199254740993", wrong.from(Number.MIN_SAFE_INTEGER)],
    [{ type: "integer", minimum: 1 }, "0", wrong.from(1)],
    [{ type: "integer", minimum: 1 }, "1", undefined],
    [{ type: "integer", maximum: 9 }, "10", wrong.upTo(9)],
    [{ type: "integer", maximum: 9 }, "9", undefined],
    [{ type: "number", exclusiveMinimum: 0 }, "0", wrong.over(0)],
    [{ type: "number", exclusiveMaximum: 1 }, "1", wrong.under(1)],
    [{ type: "number", exclusiveMaximum: 1 }, ".99", undefined],
    [{ type: "boolean" }, "", undefined]
  ] as const)("%o with %o", (property, entered, mistake) => {
    const { mistakes } = filled(objectOf({ it: property }, { required: ["it"] }), { "config.it": entered })
    assert.deepStrictEqual(mistakes, mistake === undefined ? {} : { "config.it": mistake })
  })
})

describe("what the API refuses", () => {
  const schema = objectOf({
    days: { type: "integer" },
    "a.b": { type: "string" },
    window: objectOf({ from: { type: "number" }, until: { type: "string" } })
  })
  it.each([
    [["config.days"], { "config.days": wrong.other }],
    [["config.window.until", "config.days"], { "config.window.until": wrong.other, "config.days": wrong.other }],
    [["config.window"], { "config.window.from": wrong.other }],
    [["config.a.b"], { "config.a.b": wrong.other }],
    [["config"], { form: wrong.form }],
    [["config.days", "config.unknown"], { "config.days": wrong.other, form: wrong.form }],
    [["config.__proto__"], { form: wrong.form }],
    [[], { form: wrong.form }]
  ])("of %o", (paths, expected) => {
    assert.deepStrictEqual(filled(schema).refused(...paths), expected)
  })
})

describe("a schema", () => {
  it("gives its words to the fields, and the name where it has no title", () => {
    const { fields } = filled(
      objectOf({
        a: { type: "string", title: "A", description: "D", format: "password" },
        b: { type: "string", writeOnly: true, title: 1 },
        c: { enum: ["x", "x", 1] }
      })
    )
    assert.deepStrictEqual(
      fields.map(({ description, options, secret, title, type }) => ({ description, options, secret, title, type })),
      [
        { description: "D", options: null, secret: true, title: "A", type: "string" },
        { description: null, options: null, secret: true, title: "b", type: "string" },
        { description: null, options: ["x"], secret: false, title: "c", type: "string" }
      ]
    )
  })

  it("that has nothing to enter has no fields", () => {
    for (const schema of [null, {}, objectOf({}), objectOf({ list: { type: "array" }, no: null })])
      assert.isFalse(hasFields(schemaForm(schema, {}, "input")))
  })

  it("has no mistakes in the values that it begins with, beside those that have to be entered", () => {
    assert.deepStrictEqual(enteredMistakes(english, [], {}), {})
    assert.isUndefined(entryOf({}, "constructor"))
    assert.deepStrictEqual(
      filled(objectOf({ constructor: { type: "string" } }, { required: ["constructor"] })).mistakes,
      {
        "config.constructor": wrong.required
      }
    )
  })
})
