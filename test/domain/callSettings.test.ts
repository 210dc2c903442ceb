import { assert, it } from "@effect/vitest"
import { Either } from "effect"
import type { Json } from "../../src/domain/Json.js"
import { runApproval } from "../../src/domain/run/Approval.js"
import { runMessage } from "../../src/domain/organisation/RunMessage.js"
import { settingsLength } from "../../src/domain/run/CallSettings.js"

/** Text of the limit's length, each unit of which JSON writes as six characters. */
const text = (length: number) => "\ud800".repeat(length)

type Read = (given: Json, length: number) => Either.Either<unknown, string>
const readers: ReadonlyArray<readonly [Read, Json]> = [
  [
    runMessage,
    { channel: "webhook", subject: text(200), body: text(4_000), to: Array.from({ length: 20 }, () => text(2_048)) }
  ],
  [
    runApproval,
    {
      name: text(200),
      message: text(4_000),
      approvers: Array.from({ length: 20 }, () => text(320)),
      onExpire: "approve"
    }
  ]
]

it("the longest valid settings are within the limit of their length", () => {
  for (const [read, given] of readers) {
    const { length } = JSON.stringify([given])
    assert.isAtMost(length, settingsLength)
    // No text of a record has such a unit: that is the only mistake.
    const reason = Either.match(read(given, length), { onLeft: (why) => why, onRight: () => "" })
    assert.notMatch(reason, /at most|hold more/)
    assert.isTrue(Either.isRight(read(JSON.parse(JSON.stringify(given).replaceAll("\\ud800", "a")), length)))
  }
})

it("longer settings are refused before they are looked at", () => {
  const given = new Proxy({}, { ownKeys: () => assert.fail("they are looked at") })
  for (const [read] of readers) {
    assert.deepStrictEqual(
      read(given, settingsLength + 1),
      Either.left(`its settings hold more than ${settingsLength} characters of JSON`)
    )
  }
})
