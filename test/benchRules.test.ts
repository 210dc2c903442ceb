/** The rule by which a comparison of two builds fails. */
import { assert, it } from "@effect/vitest"
import { isDearer } from "../bench/support/Dearer.js"

it("fails a build whose runs take over 8 % more CPU in three rounds", () => {
  const other = [1, 1, 2, 1, 1]
  assert.isTrue(isDearer([1.09, 1.09, 2, 1, 1.09], other))
  assert.isTrue(isDearer([1.5, 1.5, 3], other))
})

it("passes a build that is dearer in two rounds, or by 8 % or less", () => {
  const other = [1, 1, 2, 1, 1]
  assert.isFalse(isDearer([3, 3, 1, 0.5, 1], other))
  assert.isFalse(isDearer([1.08, 1.08, 2.16, 1.08, 1.08], other))
})

it("passes a build that was measured in fewer than three rounds", () => {
  assert.isFalse(isDearer([3, 3], [1, 1]))
})
