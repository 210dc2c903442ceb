/** A body of any endpoint that does not fit is refused at a cost by its length, and holds the main loop for a bounded time. */
import { describe, it } from "@effect/vitest"
import { setImmediate } from "node:timers/promises"
import { assertGrowth } from "../support/growth.js"
import { bodyCases, membersUpTo } from "../support/parsers/Endpoints.js"

const members = new Map([...new Set(bodyCases.map(({ most }) => most))].map((most) => [most, membersUpTo(most)]))

describe.each(bodyCases.map((row) => [row.name, row] as const))("a body of %s", (_, body) => {
  it("that does not fit is refused at a cost by its length, in a bounded time, whatever its members are", async () => {
    for (const member of body.members)
      for (const { most, name, ofSize } of members.get(body.most) ?? []) {
        assertGrowth(ofSize, (value) => body.refuse({ [member]: value }), most, `${member}, ${name}`)
        await setImmediate()
      }
  })
})
