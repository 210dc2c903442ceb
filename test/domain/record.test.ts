/** A record is stated once: its bodies hold what clients may write, its view what they may see. */
import { assert, describe, it } from "@effect/vitest"
import { Either, Schema } from "effect"
import {
  changeable,
  derivedValue,
  fixedValue,
  generatedValue,
  hidden,
  optional,
  owner,
  recordOf,
  required
} from "../../src/domain/Record.js"
import { decodeStrict } from "../../src/domain/SchemaIssues.js"

const Thing = recordOf(
  "Thing",
  {
    id: generatedValue(Schema.String),
    org: owner(Schema.String),
    name: required(Schema.String, Schema.String.pipe(Schema.maxLength(3))),
    note: optional(Schema.NullOr(Schema.String), null),
    size: optional(Schema.Number, 1),
    uses: derivedValue(Schema.Number),
    gone: hidden(Schema.NullOr(Schema.String)),
    updatedAt: generatedValue(Schema.String),
    version: generatedValue(Schema.Number)
  },
  ["size"]
)
const written = { id: "1", org: "o" }
const first = { ...written, gone: null, updatedAt: "t", version: 1 }

describe("a record", () => {
  it("has a column for each member but derived ones", () => {
    assert.deepStrictEqual(Object.keys(Thing.stored.fields), [
      "id",
      "org",
      "name",
      "note",
      "size",
      "gone",
      "updatedAt",
      "version"
    ])
    assert.deepStrictEqual(Object.keys(Thing.View.fields), [
      "id",
      "name",
      "note",
      "size",
      "uses",
      "updatedAt",
      "version"
    ])
    assert.deepStrictEqual(Object.keys(Thing.Create.fields), ["size", "name", "note"])
    assert.deepStrictEqual(Object.keys(Thing.Update.fields), ["size", "name", "note", "version"])
  })

  it("is created of a body, of initial values and of what the service writes, and shown without what is not for clients", () => {
    const made = Thing.create({ name: "a" }, written, "t")
    assert.deepStrictEqual(made, { ...first, name: "a", note: null, size: 1 })
    assert.deepStrictEqual(Thing.show(made, { uses: 2 }), {
      id: "1",
      name: "a",
      note: null,
      size: 1,
      uses: 2,
      updatedAt: "t",
      version: 1
    })
  })

  it("changes by the members that a body has, also to null, and gets its next version", () => {
    const made = Thing.create({ name: "a", note: "n", size: 3 }, written, "t")
    const changed = Thing.change(made, { note: null, size: undefined, org: "other", version: 9 }, "later")
    assert.deepStrictEqual(changed, { ...made, note: null, updatedAt: "later", version: 2 })
  })

  it("has members that are given only to create it, or only to change it, and shows some in another form", () => {
    const Place = recordOf("Place", {
      id: generatedValue(Schema.String.pipe(Schema.minLength(3)), Schema.String),
      kind: fixedValue(required(Schema.Literal("a", "b"))),
      state: changeable(optional(Schema.Literal("on", "off"), "on")),
      parts: generatedValue(Schema.NullOr(Schema.Number), Schema.Struct({ count: Schema.Number })),
      updatedAt: generatedValue(Schema.String),
      version: generatedValue(Schema.Number)
    })
    assert.deepStrictEqual(Object.keys(Place.Create.fields), ["kind"])
    assert.deepStrictEqual(Object.keys(Place.Update.fields), ["state", "version"])
    const made = Place.create({ kind: "a", id: "of a client" }, { id: "one" }, "t")
    assert.deepStrictEqual(made, { id: "one", kind: "a", state: "on", parts: null, updatedAt: "t", version: 1 })
    const changed = Place.change(made, { kind: "b", state: "off" }, "later")
    assert.deepStrictEqual(changed, { ...made, state: "off", updatedAt: "later", version: 2 })
    assert.deepStrictEqual(Place.show(changed, { parts: { count: 0 } }).parts, { count: 0 })
  })

  it.each(["id", "org", "gone", "uses", "updatedAt"])("has no body with %s", (member) => {
    for (const body of [Thing.Create, Thing.Update])
      assert.isTrue(Either.isLeft(decodeStrict(body as Schema.Schema<unknown, unknown>)({ name: "a", [member]: "x" })))
    assert.isTrue(Either.isRight(decodeStrict(Thing.Create)({ name: "abc" })))
    assert.isTrue(Either.isLeft(decodeStrict(Thing.Create)({ name: "abcd" })))
  })
})
