/** No parser reads what came from outside without a row that measures it. */
import { assert, describe, it } from "@effect/vitest"
import { answerParsers } from "./support/parsers/Answers.js"
import { expressionParsers } from "./support/parsers/Expressions.js"
import { headerParsers, textParsers } from "./support/parsers/Headers.js"
import { parserCalls } from "./support/parsers/Inventory.js"
import { ownCalls, ownRooms } from "./support/parsers/OwnData.js"
import { requestParsers } from "./support/parsers/Requests.js"
import { storedParsers } from "./support/parsers/Stored.js"

const rows = [
  ...requestParsers,
  ...answerParsers,
  ...headerParsers,
  ...textParsers,
  ...expressionParsers,
  ...storedParsers
]
const covered = rows.flatMap(({ covers }) => covers)
const own = Object.values(ownCalls).flat()
const rooms = Object.values(ownRooms).flat()
const calls = parserCalls()

describe("every call of a parser in src", () => {
  it("belongs to a row of the table of parsers, or is named with the reason why it needs none", () => {
    const known = new Set([...covered, ...own])
    const unknown = [...calls].flatMap(([name, parsers]) =>
      parsers.size === 0 || known.has(name) || rooms.some((room) => name.startsWith(room))
        ? []
        : [`${name}: ${[...parsers].join(", ")}`]
    )
    assert.deepStrictEqual(unknown, [], "add a row in test/support/parsers, or a reason in OwnData.ts")
  })

  it("is found: calls that are named with a reason exist, and no row has a reason as well", () => {
    assert.deepStrictEqual(
      own.filter((name) => (calls.get(name)?.size ?? 0) === 0 || covered.includes(name)),
      []
    )
    assert.deepStrictEqual(
      rooms.filter((room) => ![...calls].some(([name, parsers]) => name.startsWith(room) && parsers.size > 0)),
      []
    )
    assert.deepStrictEqual(
      covered.filter((name) => !calls.has(name)),
      []
    )
  })
})
