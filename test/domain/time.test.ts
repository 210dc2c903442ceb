/** Only RFC 3339 is a time of a request; providers' forms are read too, and nothing else is. */
import { assert, describe, it } from "@effect/vitest"
import { Either, Schema } from "effect"
import { expiryOf } from "../../src/domain/trigger/Subscription.js"
import { parseProviderTime, parseTime, Rfc3339, TimeBound, timeAfter } from "../../src/domain/Time.js"
import { notTimes } from "../support/hostileTimes.js"

const decoded = (text: string) => Either.getOrUndefined(Schema.decodeUnknownEither(Rfc3339)(text))

describe("a time of a request", () => {
  it.each([
    ["2026-11-21T07:10:41Z", "2026-11-21T07:10:41.000Z"],
    ["2026-11-21t07:10:41.5z", "2026-11-21T07:10:41.500Z"],
    ["2026-11-21T07:10:41.123456789+05:30", "2026-11-21T01:40:41.123Z"],
    ["2026-11-21T07:10:41-23:59", "2026-11-22T07:09:41.000Z"],
    ["2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z"],
    ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"],
    ["9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"],
    ["2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000Z"],
    ["2017-01-01T00:59:60+01:00", "2017-01-01T00:00:00.000Z"]
  ])("%s is %s", (text, utc) => assert.strictEqual(decoded(text), utc))

  it.each(notTimes.map((text) => [JSON.stringify(text), text] as const))("%s is none", (_name, text) => {
    assert.isUndefined(parseTime(text))
    assert.isUndefined(decoded(text))
  })

  it.prop("is read as JavaScript reads its own form", [Schema.DateFromSelf], ([date]) => {
    const at = date.getTime()
    if (!(at >= Date.parse("0001-01-01T00:00:00.000Z") && at < Date.parse("9999-12-31T23:59:59.999Z"))) return
    assert.strictEqual(parseTime(date.toISOString()), at)
  })

  it("as a bound may be empty, or a date, which means its start in UTC", () => {
    const bound = Schema.decodeUnknownSync(TimeBound)
    assert.deepStrictEqual([bound(""), bound("2026-11-21")], ["", "2026-11-21T00:00:00.000Z"])
    for (const text of notTimes.filter((one) => one !== "" && one !== "2026-11-21"))
      assert.isTrue(Either.isLeft(Schema.decodeUnknownEither(TimeBound)(text)), text)
  })
})

describe("a time of a provider", () => {
  it.each([
    ["2026-11-21T07:10:41.000+0100", "2026-11-21T06:10:41.000Z"],
    ["2026-11-21 07:10:41", "2026-11-21T07:10:41.000Z"],
    ["2026-11-21 07:10:41 UTC", "2026-11-21T07:10:41.000Z"],
    ["2026-11-21 07:10:41+01", "2026-11-21T06:10:41.000Z"],
    ["2026-11-21T07:10", "2026-11-21T07:10:00.000Z"],
    ["2026-11-21", "2026-11-21T00:00:00.000Z"],
    ["Sun, 06 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37.000Z"],
    ["Sunday, 06-Nov-94 08:49:37 GMT", "1994-11-06T08:49:37.000Z"],
    ["Sun Nov  6 08:49:37 1994", "1994-11-06T08:49:37.000Z"],
    ["Tue, 5 May 2026 10:00:00 -0200", "2026-05-05T12:00:00.000Z"]
  ])("%s is %s", (text, utc) => assert.strictEqual(parseProviderTime(text), Date.parse(utc)))

  it.each([
    "",
    "2026",
    "x",
    "https://[::1",
    "%00",
    "July 4",
    "Mon, 99 Foo 2026 10:00:00 GMT",
    "+275760-09-13T00:00:00Z"
  ])("%s is none", (text) => assert.isUndefined(parseProviderTime(text)))

  it("as a number is none where it cannot be stored", () => {
    for (const value of [1e300, -1e300, Number.NaN, Infinity, 8.64e15 + 1])
      assert.isNull(expiryOf(value), String(value))
    assert.strictEqual(expiryOf(1_800_000_000), 1_800_000_000_000)
  })

  it("after any number of seconds can be stored", () => {
    for (const seconds of [1, 1e15, 1e300, Infinity]) assert.isString(new Date(timeAfter(0, seconds)).toISOString())
  })
})
