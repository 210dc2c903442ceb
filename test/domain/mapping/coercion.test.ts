/** How providers' values are read as common ones. What is common already stays as it is. */
import { assert, describe, it } from "@effect/vitest"
import { decimalOf } from "../../../src/domain/mapping/Decimal.js"
import { readValue } from "../../../src/domain/model/Coercion.js"
import { countryCode } from "../../../src/domain/model/Countries.js"
import type { FieldType } from "../../../src/domain/model/FieldType.js"
import * as types from "../../../src/domain/model/FieldType.js"
import { amountText, scanNumber } from "../../../src/domain/model/Numbers.js"

const read = (
  type: FieldType,
  value: unknown,
  locale = "en",
  dateFormat?: "MM-DD-YYYY" | "DD-MM-YYYY" | "unix" | "ms"
) => {
  const found = readValue(type, value as string, { locale, dateFormat })
  return "mistake" in found ? found.code : found.value
}

describe("a number", () => {
  it.each([
    ["en", "1,234.56", "1234.56"],
    ["en", "1,234", "1234"],
    ["en", "$1,234.50", "1234.50"],
    ["en", "1.234", "1.234"],
    ["en", "-0.00", "0.00"],
    ["de", "1.234,56", "1234.56"],
    ["de", "1.234", "1234"],
    ["de", "1.234,56 €", "1234.56"],
    ["de", "1,5", "1.5"],
    ["fr", "1 234,56", "1234.56"],
    ["fr", "1\u202f234,56 EUR", "1234.56"],
    ["es", "1.234.567,8", "1234567.8"],
    ["en", "12.3456785", "12.345679"],
    ["en", "-12.3456785", "-12.345679"],
    ["en", ".5", "0.5"]
  ])("of the locale %s written %s is the amount %s", (locale, text, amount) =>
    assert.strictEqual(read(types.money, text, locale), amount)
  )

  it.each(["", "abc", "1-2", "--1", "1e5", "NaN", "1,2.3,4x"])("that is none, %s, is no amount", (text) =>
    assert.oneOf(read(types.money, text), [null, "INVALID_VALUE"])
  )

  it("of JSON is its shortest text, and amounts are exact against integers on 100,000 values", () => {
    assert.strictEqual(read(types.money, 0.1), "0.1")
    assert.strictEqual(read(types.money, 1e21), "1000000000000000000000")
    let seed = 7
    const next = () => (seed = (seed * 48_271) % 2_147_483_647)
    for (let n = 0; n < 100_000; n += 1) {
      const digits = BigInt(next()) * BigInt(next())
      const scale = next() % 10
      const below = String(digits % 10n ** BigInt(scale)).padStart(scale, "0")
      const text = `${digits / 10n ** BigInt(scale)}${scale === 0 ? "" : `.${below}`}`
      const decimal = decimalOf(text)
      if (decimal === undefined) throw new Error(text)
      const unit = 10n ** BigInt(Math.max(0, scale - 6))
      const [whole = "", fraction = ""] = amountText(decimal).split(".")
      assert.isAtMost(fraction.length, 6)
      // In millionths.
      const wanted = ((digits + unit / 2n) / unit) * 10n ** BigInt(6 - Math.min(6, scale))
      assert.strictEqual(BigInt(whole + fraction.padEnd(6, "0")), wanted, text)
    }
  })
})

describe("a time", () => {
  it.each([
    ["en", 1_700_000_000, "2023-11-14T22:13:20.000Z"],
    ["en", "1700000000000", "2023-11-14T22:13:20.000Z"],
    ["en", "2026-02-28T23:30:00-02:00", "2026-03-01T01:30:00.000Z"],
    ["en", "2026-02-28 23:30:00", "2026-02-28T23:30:00.000Z"],
    ["en", "2026-02-28", "2026-02-28T00:00:00.000Z"],
    ["en", "02-03-2026", "2026-02-03T00:00:00.000Z"],
    ["de", "02.03.2026", "2026-03-02T00:00:00.000Z"],
    ["fr", "02/03/2026", "2026-03-02T00:00:00.000Z"],
    ["en", "13-03-2026", "2026-03-13T00:00:00.000Z"],
    ["en", "13-13-2026", "INVALID_VALUE"],
    ["de", "02-13-2026", "INVALID_VALUE"],
    ["en", "2026-02-30", "INVALID_VALUE"],
    ["en", "12345", "INVALID_VALUE"],
    ["en", "/Date(1700000000000+1300)/", "2023-11-14T22:13:20.000Z"],
    ["en", "/Date(-1000)/", "1969-12-31T23:59:59.000Z"],
    ["en", "/Date(999999999999999)/", "INVALID_VALUE"],
    ["en", "/Date(1700000000000)", "INVALID_VALUE"],
    ["en", "yesterday", "INVALID_VALUE"]
  ])("of the locale %s written %s is %s", (locale, value, time) =>
    assert.strictEqual(read(types.dateTime, value, locale), time)
  )

  it("has the parts that its format says", () => {
    assert.strictEqual(read(types.dateTime, "02-03-2026", "de", "MM-DD-YYYY"), "2026-02-03T00:00:00.000Z")
    assert.strictEqual(read(types.dateTime, "02-03-2026", "en", "DD-MM-YYYY"), "2026-03-02T00:00:00.000Z")
    assert.strictEqual(read(types.dateTime, 5, "en", "unix"), "1970-01-01T00:00:05.000Z")
    assert.strictEqual(read(types.dateTime, 5, "en", "ms"), "1970-01-01T00:00:00.005Z")
  })
})

describe("a word", () => {
  it.each([
    [types.boolean, "YES", true],
    [types.boolean, "off", false],
    [types.boolean, 1, true],
    [types.boolean, "maybe", "INVALID_VALUE"],
    [types.oneOf("in_transit", "OPEN"), "In Transit", "in_transit"],
    [types.oneOf("in_transit", "OPEN"), "open", "OPEN"],
    [types.oneOf("in_transit", "OPEN"), "closed", "UNMAPPED_ENUM"],
    [types.email, " Ada@Example.COM ", "ada@example.com"],
    [types.phone, "0049 (30) 123-456", "+4930123456"],
    [types.phone, "030 123", "030 123"],
    [types.currency, "eur", "EUR"],
    [types.currency, "euro", "INVALID_VALUE"],
    [types.text, 12, "12"],
    [types.text, 1e21, "1000000000000000000000"],
    [types.integer, "12.5", "INVALID_VALUE"],
    [types.share, 1.5, "INVALID_VALUE"],
    [types.text, { a: 1 }, "INVALID_TYPE"],
    [types.listOf(types.text), "a", "INVALID_TYPE"],
    [types.country, "DEU", "DE"],
    [types.country, "germany", "DE"],
    [types.country, "USA", "US"],
    [types.country, "Côte d'Ivoire", "CI"],
    [types.country, "Atlantis", "INVALID_VALUE"]
  ] as const)("%j reads %j as %j", (type, value, wanted) => assert.strictEqual(read(type, value), wanted))

  it("of a country has 250 codes of two letters, each its own", () => {
    for (const code of ["AD", "ZW", "XK", "GB", "TW"]) assert.strictEqual(countryCode(code), code)
  })
})

describe("what is common already", () => {
  it.each(["en", "de", "fr", "es"])("stays as it is in the locale %s", (locale) => {
    const values: ReadonlyArray<readonly [FieldType, unknown]> = [
      [types.dateTime, "2026-02-28T23:30:00.000Z"],
      [types.boolean, true],
      [types.number, 1234.5],
      [types.integer, 7],
      [types.country, "DE"],
      [types.currency, "EUR"],
      [types.email, "ada@example.com"],
      [types.phone, "+4930123456"],
      [types.text, " as it is "],
      [types.json, { __proto__: null, a: [1] }]
    ]
    for (const [type, value] of values) assert.deepStrictEqual(read(type, value, locale) as unknown, value)
  })

  it("stays an amount, which callers write in the common form", () => {
    for (const text of ["0", "12.50", "-1.234", "1234567.123456"]) assert.strictEqual(read(types.money, text), text)
  })

  it("reaches no prototype", () => {
    const hostile = JSON.parse('{"__proto__": {"polluted": true}, "city": "x"}')
    read(types.objectOf({ city: types.text }), hostile)
    assert.notProperty({}, "polluted")
    assert.isUndefined(scanNumber("1".repeat(1_000), "en"))
  })
})
