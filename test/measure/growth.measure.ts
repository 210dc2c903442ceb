/** What is read from outside costs as much as it is long, and holds the main loop for a bounded time. */
import { afterEach, describe, it } from "@effect/vitest"
import { setImmediate } from "node:timers/promises"
import { assertGrowth } from "../support/growth.js"
import { answerParsers } from "../support/parsers/Answers.js"
import { expressionParsers } from "../support/parsers/Expressions.js"
import { headerParsers, textParsers } from "../support/parsers/Headers.js"
import { requestParsers } from "../support/parsers/Requests.js"
import { storedParsers } from "../support/parsers/Stored.js"

const parsers = [
  ...requestParsers,
  ...answerParsers,
  ...headerParsers,
  ...textParsers,
  ...expressionParsers,
  ...storedParsers
]

/** The runner of the tests answers between measurements, each of which holds the loop. */
afterEach(() => setImmediate())

describe.each(parsers.map((row) => [row.covers.join(", "), row] as const))("%s", (_, { cases, most }) => {
  it.each(cases)("%s", (_, prepare) => {
    assertGrowth(prepare, (run) => run(), most)
  })
})
