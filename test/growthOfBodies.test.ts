/** A body of any endpoint that does not fit is refused at a cost by its length, and holds the main loop for a bounded time. */
import { assert, describe, it } from "@effect/vitest"
import { setImmediate } from "node:timers/promises"
import { findExcess } from "./support/growth.js"
import { bodyCases, membersUpTo } from "./support/parsers/Endpoints.js"

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
