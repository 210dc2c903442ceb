/** A pair with `defaultNow` gives a new record the time of its creation, and changes nothing of others. */
import { assert, describe, it } from "@effect/vitest"
import { compilePairs } from "../../../src/domain/mapping/CompiledPair.js"
import type { FieldMap } from "../../../src/domain/mapping/FieldMap.js"
import { fieldMapMistakes } from "../../../src/domain/mapping/FieldMapChecks.js"
import { writeChange, writeNewRecord } from "../../../src/domain/mapping/RecordWriting.js"
import type { FieldType, Model } from "../../../src/domain/model/FieldType.js"

const field = (type: FieldType) => ({ type, isReadOnly: false, isRequired: false })
const model: Model = {
  name: "test.call",
  fields: {
    at: field({ kind: "dateTime" }),
    text: field({ kind: "text" }),
    days: field({ kind: "list", of: { kind: "dateTime" } })
  },
  anyOf: [],
  verbs: []
}
const pair = (members: Partial<FieldMap> & { readonly to: string }): FieldMap => ({ transforms: [], ...members })
const map = (...fields: ReadonlyArray<FieldMap>) => ({
  pairs: compilePairs(fields, model, "out"),
  minorUnits: undefined,
  fieldsAt: []
})
const now = "2026-11-27T10:00:00.000Z"
const given = map(
  pair({ from: "at", to: "stamp", default: "", defaultNow: true, dateFormat: "ms" }),
  pair({ to: "made", defaultNow: true })
)

describe("a pair with defaultNow", () => {
  it("gives a new record without the value the time, in the pair's format", () => {
    assert.deepStrictEqual(writeNewRecord(given, {}, now).record, { stamp: Date.parse(now), made: now })
  })

  it("leaves a value that is given", () => {
    assert.deepStrictEqual(writeNewRecord(given, { at: "2026-01-01T00:00:00.000Z" }, now).record, {
      stamp: Date.parse("2026-01-01T00:00:00.000Z"),
      made: now
    })
  })

  it("clears by its default, and writes nothing of what is not changed", () => {
    const before = { provider: { stamp: 5, made: "x" }, common: { at: now, text: null } }
    assert.deepStrictEqual(writeChange(given, { at: null, text: "a" }, before).record, { stamp: "" })
    assert.deepStrictEqual(writeChange(given, { at: now, text: "a" }, before).record, {})
  })

  it("is for times of maps for writing, and not for lists", () => {
    const mistakes = (direction: "in" | "out", one: FieldMap) =>
      fieldMapMistakes([one], { at: "fields", direction, model }).map(({ code, path }) => `${path} ${code}`)
    assert.deepStrictEqual(mistakes("out", pair({ from: "at", to: "stamp", defaultNow: true })), [])
    assert.deepStrictEqual(mistakes("out", pair({ to: "stamp", defaultNow: true })), [])
    const refused = ["fields[0].defaultNow INVALID_VALUE"]
    assert.deepStrictEqual(mistakes("in", pair({ from: "stamp", to: "at", defaultNow: true })), refused)
    assert.deepStrictEqual(mistakes("out", pair({ from: "text", to: "stamp", defaultNow: true })), refused)
    assert.deepStrictEqual(mistakes("out", pair({ from: "days[*]", to: "stamps[*]", defaultNow: true })), refused)
  })
})
