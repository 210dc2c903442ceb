import { assert, describe, it } from "@effect/vitest"
import { Duration } from "effect"
import {
  type AttemptResult,
  decide,
  parseRetryAfter,
  retrySchedule,
  type Verdict
} from "../../src/domain/delivery/Delivery.js"

const now = Date.parse("2026-11-21T07:00:00Z")
const answered = (status: number, retryAfter?: string): AttemptResult => ({ _tag: "Answered", status, retryAfter })

/** Short forms, so that each row below is one line. */
const told = (verdict: Verdict): string =>
  verdict._tag === "Retry" ? `retry after ${Duration.toSeconds(verdict.after)} s` : verdict._tag.toLowerCase()

describe("what an answer means", () => {
  const rows: ReadonlyArray<readonly [name: string, attempt: number, answer: AttemptResult, expected: string]> = [
    ["200 is success", 1, answered(200), "delivered"],
    ["204 is success", 8, answered(204), "delivered"],
    ["a redirect is a failure", 1, answered(301), "retry after 5 s"],
    ["304 is a failure", 1, answered(304), "retry after 5 s"],
    ["400 is tried again: the receiver may be repaired", 1, answered(400), "retry after 5 s"],
    ["500 is tried again", 2, answered(500), "retry after 300 s"],
    ["410 ends it at once", 1, answered(410), "exhausted"],
    ["no answer is tried again", 3, { _tag: "Unanswered", reason: "refused" }, "retry after 1800 s"],
    ["a blocked URL ends it at once", 1, { _tag: "Refused", reason: "leads to 10.0.0.1" }, "exhausted"],
    ["Retry-After in seconds puts a 503 off", 1, answered(503, "120"), "retry after 120 s"],
    ["Retry-After as a date puts a 429 off", 1, answered(429, "Sat, 21 Nov 2026 07:01:30 GMT"), "retry after 90 s"],
    ["Retry-After never hurries the schedule", 2, answered(503, "1"), "retry after 300 s"],
    ["Retry-After of a 500 is not heeded", 1, answered(500, "120"), "retry after 5 s"],
    ["nobody puts it off for more than a day", 1, answered(503, "999999"), "retry after 86400 s"],
    ["the eighth failure is the last", 8, answered(500), "exhausted"],
    ["an attempt beyond the schedule is the last, too", 20, answered(500), "exhausted"]
  ]
  for (const [name, attempt, answer, expected] of rows) {
    it(name, () => assert.strictEqual(told(decide(attempt, answer, now)), expected))
  }

  it("says why", () => {
    const verdict = decide(1, answered(302), now)
    assert.deepInclude(verdict, { status: 302, reason: "the endpoint answered 302; redirects are not followed" })
  })
})

describe("the schedule", () => {
  it("is the contract's: 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 10 h", () =>
    assert.deepStrictEqual(retrySchedule.map(Duration.toSeconds), [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000]))
})

describe("Retry-After", () => {
  const seconds = (value: string) => Duration.toSeconds(parseRetryAfter(value, now))
  it("takes both forms", () => {
    assert.strictEqual(seconds("7"), 7)
    assert.strictEqual(seconds("Saturday, 21-Nov-26 07:00:10 GMT"), 10)
    assert.strictEqual(seconds("Sat Nov 21 07:00:10 2026 GMT"), 10)
  })
  it("is ignored if it is neither form, or in the past", () => {
    for (const value of ["", "soon", "-5", "1.5", "2099-01-01", "Fri, 20 Nov 2026 07:00:00 GMT"])
      assert.strictEqual(seconds(value), 0, value)
  })
})
