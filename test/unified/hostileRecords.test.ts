/**
 * What a tenant chooses of maps and records costs what the service allows: the result of a map is bounded, and a record that is
 * written is looked at up to a number of values and mistakes.
 */
import { assert, describe, it } from "@effect/vitest"
import { fieldMapMistakes } from "../../src/domain/mapping/FieldMapChecks.js"
import { MapCost } from "../../src/domain/mapping/MapCost.js"
import { readRecord } from "../../src/domain/mapping/RecordReading.js"
import { writeNewRecord } from "../../src/domain/mapping/RecordWriting.js"
import { checkWritten } from "../../src/domain/model/WrittenRecord.js"
import {
  copyingPlan,
  costlyMaps,
  long,
  mistakenPairs,
  mistakenRecords,
  model,
  planOf,
  writtenRules
} from "../support/hostileRecords.js"

describe("a map of a thousand pairs", () => {
  it.each(costlyMaps)("%s makes no more than a page may hold", (_, fields, record) => {
    const cost = new MapCost()
    const work = readRecord(planOf(fields).reading, record, cost)
    let step = work.next()
    while (step.done !== true) step = work.next()
    assert.isTrue(cost.isExceeded || JSON.stringify(step.value.record).length < 10_000_000)
  })

  it("writes no more than a request may hold, and says so", () => {
    const { mistakes, record } = writeNewRecord(copyingPlan(), { title: long })
    assert.deepInclude(mistakes[0], { code: "OUT_OF_RANGE" })
    assert.isBelow(JSON.stringify(record).length, 20_000_000)
  })

  it("is checked, with a suggestion for each mistake", () => {
    assert.lengthOf(fieldMapMistakes(mistakenPairs, { at: "fields", direction: "in", model }), 1_000)
  })
})

describe("a record that is written", () => {
  it.each(mistakenRecords)("with a hundred thousand %s is refused, with some of them named", (_, body) => {
    const { mistakes } = checkWritten(writtenRules, body)
    assert.isAtLeast(mistakes.length, 1)
    assert.isAtMost(mistakes.length, 50)
  })
})
