/** The filters of an event hold the main loop for a bounded time, whatever the routes and the payload are. */
import { describe, it } from "@effect/vitest"
import { any, matched, worst } from "../../support/costlyFilters.js"
import { assertWithin } from "../../support/pace.js"

/** Each takes about 5 ms, and took from 100 ms to minutes without a bound. */
const mostMillis = 40

describe("The filters of an event", () => {
  for (const [name, condition, payload] of worst)
    it(`take a bounded time: ${name}`, () => {
      const filter = any(condition)
      matched(filter, payload)
      const times = Array.from({ length: 3 }, () => {
        const begin = performance.now()
        matched(filter, payload)
        return performance.now() - begin
      })
      assertWithin(Math.min(...times), mostMillis)
    })
})
