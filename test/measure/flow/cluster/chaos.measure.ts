/** A cluster whose nodes come and go keeps its promises in time: `npm run chaos` runs this file. */
import { it } from "@effect/vitest"
import { assertPromises, trialSeconds } from "../../../support/chaos/Promises.js"
import { assertFigure } from "../../../support/figures.js"
import { pacedLately } from "../../../support/pace.js"

it("keeps its promises", { timeout: trialSeconds * 1_000 + 600_000 }, async () => {
  let worst = 0
  await assertPromises({
    isLate: (took, millis) => {
      const bound = took > millis ? pacedLately(millis) : millis
      worst = Math.max(worst, took / bound)
      return took > bound
    }
  })
  assertFigure({ of: "the longest time, of its bound", value: worst, bound: 1.001, unit: "times" })
})
