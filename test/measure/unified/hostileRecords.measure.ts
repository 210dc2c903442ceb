/** Other work goes on between the values of a map, and records and maps are checked in a bounded time. */
import { describe, it } from "@effect/vitest"
import { fieldMapMistakes } from "../../../src/domain/mapping/FieldMapChecks.js"
import { MapCost } from "../../../src/domain/mapping/MapCost.js"
import { readRecord } from "../../../src/domain/mapping/RecordReading.js"
import { writeNewRecord } from "../../../src/domain/mapping/RecordWriting.js"
import { checkWritten } from "../../../src/domain/model/WrittenRecord.js"
import {
  copyingPlan,
  costlyMaps,
  long,
  mistakenPairs,
  mistakenRecords,
  model,
  planOf,
  writtenRules
} from "../../support/hostileRecords.js"
import { assertOnceWithin, assertWithin } from "../../support/pace.js"

const within = (millis: number, work: () => unknown) => {
  const from = performance.now()
  work()
  assertWithin(performance.now() - from, millis)
}

describe("a map of a thousand pairs", () => {
  it.each(costlyMaps)("%s pauses", async (_, fields, record) => {
    /** The longest time without a pause. */
    const worst = async () => {
      const work = readRecord(planOf(fields).reading, record, new MapCost())
      for (let longest = 0; ;) {
        const from = performance.now()
        const { done } = work.next()
        longest = Math.max(longest, performance.now() - from)
        if (done === true) return longest
      }
    }
    await worst()
    await assertOnceWithin(150, "the longest time without a pause", worst)
  })

  it("writes no more than a request may hold", () => {
    const plan = copyingPlan()
    within(300, () => writeNewRecord(plan, { title: long }))
  })

  it("is checked", () => within(500, () => fieldMapMistakes(mistakenPairs, { at: "fields", direction: "in", model })))
})

describe("a record that is written", () => {
  it.each(mistakenRecords)("with a hundred thousand %s", (_, body) =>
    within(200, () => checkWritten(writtenRules, body))
  )
})
