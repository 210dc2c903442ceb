/** A workflow of the greatest size is analysed in linear time. */
import { describe, it } from "@effect/vitest"
import { analyse } from "../../../src/runtime/computing/workflow/Analyse.js"
import { largeSources } from "../../support/largeSources.js"
import { assertWithin } from "../../support/pace.js"

describe("a source of 512 KiB", () => {
  for (const [name, source] of Object.entries(largeSources))
    it(name, () => {
      const start = performance.now()
      analyse(source)
      // A second on an idle machine; an analysis that is not linear takes minutes.
      assertWithin(performance.now() - start, 5_000)
    })
})
