/** A runner remembers for some time which tenants had long turns, and counts only turns that delayed others. */
import { assert, describe, it } from "@effect/vitest"
import { LongTurns } from "../../src/runtime/sandbox/LongTurns.js"

describe("Long turns of a runner", () => {
  it("make it busy for every other tenant, and free again after some seconds", () => {
    const turns = new LongTurns()
    turns.add("org_evil", 300, 1_000)
    assert.isTrue(turns.isBusyWith("org_evil", 1_100))
    assert.isTrue(turns.isBusyWithOther("org_victim", 1_100))
    assert.isFalse(turns.isBusyWithOther("org_evil", 1_100))
    assert.isFalse(turns.isBusyWithOther("org_victim", 9_000))
  })

  it("add up; short ones do not count", () => {
    const turns = new LongTurns()
    for (let n = 0; n < 1_000; n++) turns.add("org_quick", 2, n)
    assert.isFalse(turns.isBusyWith("org_quick", 1_000))
    for (let n = 0; n < 4; n++) turns.add("org_slow", 30, 1_000 + n * 100)
    assert.isTrue(turns.isBusyWith("org_slow", 1_400))
  })

  it("are remembered for a bounded number of tenants", () => {
    const turns = new LongTurns()
    for (let n = 0; n < 1_000; n++) turns.add(`org_${n}`, 500, n)
    assert.isFalse(turns.isBusyWith("org_0", 1_000))
    assert.isTrue(turns.isBusyWith("org_999", 1_000))
  })
})
