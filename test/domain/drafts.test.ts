/** Which states of a draft are kept when another one replaces them. */
import { assert, describe, it } from "@effect/vitest"
import { isKept } from "../../src/domain/workflow/Draft.js"
import type { Workflow } from "../../src/domain/workflow/Workflow.js"

const state = (draftUpdatedBy: string, minute: string, contentHash: string) =>
  ({ draftUpdatedBy, draftUpdatedAt: `2026-11-26T10:${minute}.000Z`, contentHash }) as Workflow

describe("A replaced state of a draft", () => {
  it("is kept if another author replaces it, or another window of five minutes has begun", () => {
    const before = state("a", "04:59", "1")
    assert.isTrue(isKept(before, state("b", "04:59", "2")))
    assert.isTrue(isKept(before, state("a", "05:00", "2")))
    assert.isFalse(isKept(state("a", "00:00", "1"), state("a", "04:59", "2")))
    assert.isFalse(isKept(before, state("b", "09:00", "1")), "nothing was replaced")
  })

  it("is the last of each author and window", () => {
    const saves = ["00:01", "01:00", "04:00", "06:00", "07:00", "12:00"].map((minute, n) => state("a", minute, `${n}`))
    const kept = saves.filter((one, n) => n + 1 < saves.length && isKept(one, saves[n + 1] ?? one))
    assert.deepStrictEqual(
      kept.map(({ contentHash }) => contentHash),
      ["2", "4"]
    )
  })
})
