/** A wait that can never end, or that calls an action for nothing, is a mistake at its place. */
import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"
import { checkFlow } from "../../../src/domain/flow/Checks.js"
import type { JsonObject } from "../../../src/domain/Json.js"

const mistakes = (config: JsonObject) =>
  Either.match(checkFlow({ steps: [{ name: "w", type: "wait", config }] }, undefined), {
    onLeft: (found) => found.map(({ path }) => path),
    onRight: () => []
  })

const ofPoll = { path: "poll.x", op: "eq", value: 1 }
const ofState = { path: "state.ORG.x", op: "eq", value: 1 }
const ofInput = { path: "input.x", op: "eq", value: 1 }
const poll = { connector: "crm", action: "get" }
const at = "steps[0].config"

describe("a wait for a condition", () => {
  it.each([
    ["reads poll without one", { condition: ofPoll }, [`${at}.condition.path`]],
    [
      "reads poll without one, inside of others",
      { condition: { any: [ofState, { not: ofPoll }] } },
      [`${at}.condition.any[1].not.path`]
    ],
    ["has a poll that it does not read", { condition: ofState, poll }, [`${at}.poll`]],
    ["reads nothing that changes", { condition: ofInput }, [`${at}.condition`]],
    ["reads its poll", { condition: ofPoll, poll }, []],
    ["reads its poll and a stored value", { condition: { any: [ofState, ofPoll] }, poll }, []],
    ["reads a stored value", { condition: ofState }, []]
  ])("%s", (_, config, expected) => assert.deepStrictEqual(mistakes(config), expected))
})
