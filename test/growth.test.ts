/** What is read from outside costs as much as it is long, and holds the main loop for a bounded time. */
import { afterEach, assert, describe, it } from "@effect/vitest"
import { setImmediate } from "node:timers/promises"
import { findExcess } from "./support/growth.js"
import { answerParsers } from "./support/parsers/Answers.js"
import { bodyCases, membersUpTo } from "./support/parsers/Endpoints.js"
import { headerParsers, textParsers } from "./support/parsers/Headers.js"
import { requestParsers } from "./support/parsers/Requests.js"
import { storedParsers } from "./support/parsers/Stored.js"

const parsers = [...requestParsers, ...answerParsers, ...headerParsers, ...textParsers, ...storedParsers]

/** The runner of the tests answers between measurements, each of which holds the loop. */
afterEach(() => setImmediate())

describe.each(parsers.map((row) => [row.covers.join(", "), row] as const))("%s", (_, { cases, most }) => {
  it.each(cases)("%s", (_, prepare) => {
    const excess = findExcess(prepare, (run) => run(), most)
    if (excess !== undefined) assert.fail(excess)
  })
})

const members = new Map([...new Set(bodyCases.map(({ most }) => most))].map((most) => [most, membersUpTo(most)]))

describe.each(bodyCases.map((row) => [row.name, row] as const))("a body of %s", (_, body) => {
  it("that does not fit is refused at a cost by its length, in a bounded time, whatever its members are", async () => {
    for (const member of body.members)
      for (const { most, name, ofSize } of members.get(body.most) ?? []) {
        const excess = findExcess(ofSize, (value) => body.refuse({ [member]: value }), most)
        if (excess !== undefined) assert.fail(`${member}, ${name}: ${excess}`)
        await setImmediate()
      }
  })
})
