/** What is taken from the table of live runs, and could not be written, is taken again. */
import { assert, describe, it } from "@effect/vitest"
import { type LiveRun, LiveRunTable } from "../../src/actors/execution/LiveRunTable.js"
import { executionId } from "../support/journal.js"

const id = executionId()

/** A run that has advanced, and waits since the beginning; of its progress the table reads these members alone. */
const tableWith = (mark: { isSet: boolean }) => {
  const progress = {
    hasRow: true,
    hasAdvanced: true,
    isWaiting: true,
    waitingSince: 0,
    spec: { mark },
    run: { epoch: 3 }
  }
  const live = {
    launchedAt: 0,
    isCleared: false,
    deadlineAt: Infinity,
    since: 0,
    wasQueued: false,
    driven: { progress }
  }
  const table = new LiveRunTable()
  table.add(id, live as unknown as LiveRun)
  return table
}

describe("the table of live runs", () => {
  it("returns survivors once, and again if they could not be cleared", () => {
    const table = tableWith({ isSet: true })
    assert.deepStrictEqual(table.takeSurvivors(10_000), [{ id, epoch: 3 }])
    assert.isEmpty(table.takeSurvivors(10_000))
    table.returnSurvivors([{ id }])
    assert.deepStrictEqual(table.takeSurvivors(10_000), [{ id, epoch: 3 }])
  })

  it("takes the mark of a run that only waits back once, and again if that could not be written", () => {
    const table = tableWith({ isSet: true })
    assert.deepStrictEqual(table.takeWaiting(10_000), [{ id, epoch: 3 }])
    assert.isEmpty(table.takeWaiting(10_000))
    table.returnMarks([{ id }])
    assert.deepStrictEqual(table.takeWaiting(10_000), [{ id, epoch: 3 }])
  })
})
