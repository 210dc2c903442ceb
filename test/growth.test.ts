/** What is read from outside costs as much as it is long, and holds the main loop for a bounded time. */
import { assert, describe, it } from "@effect/vitest"
import { isProportional, measureGrowth } from "./support/growth.js"
import { answerParsers } from "./support/parsers/Answers.js"
import { requestParsers } from "./support/parsers/Requests.js"

const parsers = [...requestParsers, ...answerParsers]

describe.each(parsers.map((row) => [row.covers.join(", "), row] as const))("%s", (_, { cases, most }) => {
  it.each(cases)("%s", (_, prepare) => {
    const growth = measureGrowth(prepare, (run) => run(), most)
    assert.isTrue(isProportional(growth), `costs more than its input: ${JSON.stringify(growth)}`)
    assert.isBelow(growth.share, 1, `holds the main loop too long: ${JSON.stringify(growth)}`)
  })
})
