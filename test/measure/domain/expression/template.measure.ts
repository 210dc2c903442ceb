/** A condition's pattern costs time by the length of its text. */
import { describe, it } from "@effect/vitest"
import { meetsCondition } from "../../../../src/domain/expression/ConditionEvaluation.js"
import { StepBudget } from "../../../../src/domain/expression/StepBudget.js"
import { assertFigure } from "../../../support/figures.js"
import { measureGrowth } from "../../../support/growth.js"
import { backtracking, compiledPatterns } from "../../../support/patterns.js"

describe("a condition", () => {
  it.each(backtracking)("the pattern %s answers within a moment on the worst text", (pattern) => {
    const text = `${"a".repeat(1_000_000)}!`
    const { share } = measureGrowth(
      (size) => text.slice(-size),
      (s) =>
        meetsCondition(
          { path: "s", op: "matches", value: pattern },
          { s },
          { patterns: compiledPatterns, budget: new StepBudget(Infinity) }
        ),
      text.length
    )
    assertFigure({ of: "calibrated 50 ms", value: share, bound: 2, unit: "times" })
  })
})
