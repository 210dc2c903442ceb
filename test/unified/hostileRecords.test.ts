/**
 * What a tenant chooses of maps and records costs what the service allows: other work goes on between the values of a map, its
 * result is bounded, and a record that is written is looked at up to a number of values and mistakes.
 */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { EntityDefinition } from "../../src/domain/connector/Entity.js"
import { entityPlan } from "../../src/domain/connector/EntityPlan.js"
import type { JsonObject } from "../../src/domain/Json.js"
import { FieldMap, type FieldMapEncoded } from "../../src/domain/mapping/FieldMap.js"
import { fieldMapMistakes } from "../../src/domain/mapping/FieldMapChecks.js"
import { MapCost } from "../../src/domain/mapping/MapCost.js"
import { readRecord } from "../../src/domain/mapping/RecordReading.js"
import { writeNewRecord } from "../../src/domain/mapping/RecordWriting.js"
import type { Model } from "../../src/domain/model/FieldType.js"
import { findModel } from "../../src/domain/model/Models.js"
import { checkWritten } from "../../src/domain/model/WrittenRecord.js"
import { assertOnceWithin, assertWithin } from "../support/pace.js"

const model = findModel("crm.contact") as Model // The name is one of the table.
const entity = Schema.decodeSync(EntityDefinition)({ name: "contact" })

const planOf = (fields: ReadonlyArray<FieldMapEncoded>, fieldsOut: ReadonlyArray<FieldMapEncoded> = []) => {
  const decode = Schema.decodeSync(Schema.Array(FieldMap))
  return entityPlan(entity, model, { fields: decode(fields), fieldsOut: decode(fieldsOut) }, "en")
}

/** Reads a record, and measures the longest time without a pause. */
const read = (fields: ReadonlyArray<FieldMapEncoded>, record: JsonObject) => {
  const cost = new MapCost()
  const work = readRecord(planOf(fields).reading, record, cost)
  let worst = 0
  for (;;) {
    const from = performance.now()
    const step = work.next()
    worst = Math.max(worst, performance.now() - from)
    if (step.done === true) return { ...step.value, cost, worst }
  }
}

const pairs = (from: string, more: Partial<FieldMapEncoded> = {}): ReadonlyArray<FieldMapEncoded> =>
  Array.from({ length: 1_000 }, (_, at) => ({ from, to: `customFields.f${at}`, ...more }))

const long = "a, ".repeat(1_000_000)

describe("a map of a thousand pairs", () => {
  it.each<readonly [string, ReadonlyArray<FieldMapEncoded>, JsonObject]>([
    ["of one long text", pairs("t"), { t: long }],
    ["of one long text in capital letters", pairs("t", { transforms: ["UPPER"] }), { t: long }],
    [
      "that joins long texts",
      pairs("t", { transforms: [{ fn: "CONCAT", args: ["", ...Array(50).fill("t")] }] }),
      { t: long.slice(0, 60_000) }
    ],
    ["that finds words in a long text", pairs("t", { enum: { a: "b" } }), { t: long }],
    ["of the whole record", pairs("$"), { list: Array.from({ length: 50_000 }, (_, at) => ({ at })) }],
    [
      "of a long list",
      Array.from({ length: 1_000 }, (_, at) => ({ from: "list[*].at", to: `customFields.l${at}[*].x` })),
      { list: Array.from({ length: 100_000 }, (_, at) => ({ at })) }
    ]
  ])("%s pauses, and makes no more than a page may hold", async (_, fields, record) => {
    const { cost, record: result } = read(fields, record)
    await assertOnceWithin(150, "no pause", async () => read(fields, record).worst)
    assert.isTrue(cost.isExceeded || JSON.stringify(result).length < 10_000_000)
  })

  it("writes no more than a request may hold, and says so", () => {
    const copies = Array.from({ length: 1_000 }, (_, at) => ({ from: "title", to: `x${at}` }))
    const from = performance.now()
    const { mistakes, record } = writeNewRecord(planOf([], copies).writing, { title: long })
    assertWithin(performance.now() - from, 300)
    assert.deepInclude(mistakes[0], { code: "OUT_OF_RANGE" })
    assert.isBelow(JSON.stringify(record).length, 20_000_000)
  })

  it("is checked in a bounded time, with a suggestion for each mistake", () => {
    const fields = Schema.decodeSync(Schema.Array(FieldMap))(
      Array.from({ length: 1_000 }, (_, at) => ({ from: "a", to: `emailAddrseses${"x".repeat(30)}${at}` }))
    )
    const from = performance.now()
    const mistakes = fieldMapMistakes(fields, { at: "fields", direction: "in", model })
    assertWithin(performance.now() - from, 500)
    assert.lengthOf(mistakes, 1_000)
  })
})

describe("a record that is written", () => {
  const rules = { model, verb: "create", writable: [[["lastName"]]], constants: [], connector: "x" } as const
  it.each<readonly [string, JsonObject]>([
    ["unknown members", Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`emailAdress${at}`, at]))],
    ["wrong items", { emailAddresses: Array.from({ length: 200_000 }, () => 1) }],
    ["items that cannot be written", { emailAddresses: Array.from({ length: 200_000 }, () => ({ type: "x" })) }]
  ])("with a hundred thousand %s is refused at once, with some of them named", (_, body) => {
    const from = performance.now()
    const { mistakes } = checkWritten(rules, body)
    assertWithin(performance.now() - from, 200)
    assert.isAtLeast(mistakes.length, 1)
    assert.isAtMost(mistakes.length, 50)
  })
})
