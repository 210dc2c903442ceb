/** Runs work in slices to its end without pauses. */
import type { Sliced } from "../../src/domain/mapping/MapCost.js"

export const runAtOnce = <A>(work: Sliced<A>): A => {
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
  }
}
