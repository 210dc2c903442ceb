/** What is read from outside costs as much as it is long, and holds the main loop for a bounded time. */
import { afterEach, assert, describe, it } from "@effect/vitest"
import { setImmediate } from "node:timers/promises"
import { findExcess, leastShare } from "./support/growth.js"
import { answerParsers } from "./support/parsers/Answers.js"
import { bodyCases, mostBody, worstMembers } from "./support/parsers/Endpoints.js"
import { headerParsers, textParsers } from "./support/parsers/Headers.js"
import { requestParsers } from "./support/parsers/Requests.js"

const parsers = [...requestParsers, ...answerParsers, ...headerParsers, ...textParsers]

/** The runner of the tests answers between measurements, each of which holds the loop. */
afterEach(() => setImmediate())

describe.each(parsers.map((row) => [row.covers.join(", "), row] as const))("%s", (_, { cases, most }) => {
  it.each(cases)("%s", (_, prepare) => {
    const excess = findExcess(prepare, (run) => run(), most)
    if (excess !== undefined) assert.fail(excess)
  })
})

const members = Object.entries(worstMembers).map(([name, make]) => [name, make(mostBody)] as const)

describe.each(bodyCases.map((row) => [row.name, row] as const))("a body of %s", (_, { members: names, refuse }) => {
  it("that does not fit is refused in a bounded time, whatever its members are", async () => {
    for (const member of names)
      for (const [name, value] of members) {
        const share = leastShare(() => refuse({ [member]: value }))
        assert.isBelow(share, 1, `${member}, ${name}`)
        await setImmediate()
      }
  })
})
