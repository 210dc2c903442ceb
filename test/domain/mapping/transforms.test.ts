import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import type { Json, JsonObject } from "../../../src/domain/Json.js"
import { decimalOf, decimalText, multiplyDecimals, roundDecimal } from "../../../src/domain/mapping/Decimal.js"
import { applyTransforms } from "../../../src/domain/mapping/TransformEvaluation.js"

const scope: JsonObject = {
  input: { last: "Lovelace", none: null, empty: "", list: [1], n: 2 },
  note: "{{input.last}}"
}
const transformed = (value: Json, ...transforms: ReadonlyArray<Json>): Json => {
  const result = applyTransforms(value, transforms, scope)
  return "mistake" in result ? `mistake: ${result.mistake}` : result.value
}

describe("transforms", () => {
  it.each<[Json, Json, Json]>([
    ["straße", "UPPER", "STRASSE"],
    ["ABC", "LOWER", "abc"],
    [" a b\n", "TRIM", "a b"],
    [true, "UPPER", "TRUE"],
    [5, { fn: "TRIM", args: [] }, "5"],
    ["2.345", "ROUND", "2.35"],
    ["-2.345", "ROUND", "-2.35"],
    ["2.344", { fn: "ROUND" }, "2.34"],
    ["2.5", "ROUND(0)", "3"],
    ["-2.5", { fn: "ROUND", args: [0] }, "-3"],
    ["-0.004", "ROUND(2)", "0.00"],
    ["12", "ROUND", "12.00"],
    ["12.5", { fn: "ROUND", args: ["1"] }, "12.5"],
    [1.005, "ROUND", 1.01],
    [2.5, "ROUND(0)", 3],
    [-0.5, "ROUND(0)", -1],
    [1e21, "ROUND", 1e21],
    [1.5e-9, "ROUND(9)", 2e-9],
    ["1.50", "MULTIPLY(1.1)", "1.650"],
    ["2.00", "MULTIPLY(-3)", "-6.00"],
    [0.1, "MULTIPLY(3)", 0.3],
    ["99999999999999999999.99", "ADD(0.01)", "100000000000000000000.00"],
    [0.1, "ADD(0.2)", 0.3],
    ["1", { fn: "ADD", args: ["0.10"] }, "1.10"],
    ["Ada", 'CONCAT(" ", input.last)', "Ada Lovelace"],
    ["Ada", { fn: "CONCAT", args: [] }, "Ada"],
    ["Ada", { fn: "CONCAT", args: ["-", "input.none", "input.last", "input.n", "input.list"] }, "Ada-Lovelace-2-[1]"],
    [null, 'CONCAT(", ", input.last, $.input.n)', "Lovelace, 2"],
    [null, "CONCAT", ""],
    ["a", { fn: "CONCAT", args: ["", "{{input.none ?? input.last}}"] }, "aLovelace"],
    ["a", "CONCAT(-, note)", "a-{{input.last}}"],
    [null, "COALESCE(input.none, input.empty, input.last)", ""],
    [0, "COALESCE(input.last)", 0],
    [null, "COALESCE(input.none)", null]
  ])("%j %j is %j", (value, transform, expected) => assert.deepStrictEqual(transformed(value, transform), expected))

  it("are applied from left to right", () => {
    assert.strictEqual(transformed("  10.005 ", "TRIM", "MULTIPLY(2)", "ADD(1)", "ROUND(1)"), "21.0")
    assert.strictEqual(transformed(null, "COALESCE(input.last)", "UPPER"), "LOVELACE")
  })

  it.each(["UPPER", "LOWER", "TRIM", "ROUND", "MULTIPLY(2)", "ADD(2)"])("%s leaves null", (transform) =>
    assert.isNull(transformed(null, transform))
  )

  it.each<[Json, Json]>([
    [[1], "UPPER"],
    [{}, "ROUND"],
    ["1e5", "ROUND"],
    ["1,5", "MULTIPLY(2)"],
    [true, "ADD(1)"],
    [1e308, "MULTIPLY(10)"],
    ["9".repeat(401), "ROUND"],
    ["a", "SHOUT"],
    ["a", "upper"],
    ["a", "UPPER(1)"],
    ["a", "constructor"],
    ["a", { fn: "__proto__" }],
    ["1", "ROUND(21)"],
    ["1", "ROUND(-1)"],
    ["1", "ROUND(1.5)"],
    ["1", 'ROUND("")'],
    ["1", "ROUND(1, 2)"],
    ["1", "MULTIPLY"],
    ["1", "ADD(1e3)"],
    ["1", "ADD(x)"],
    ["a", "COALESCE"],
    ["a", "CONCAT(-, a b)"],
    ["a", "CONCAT(-,)"],
    ["a", 'CONCAT("-)'],
    ["a", { fn: "CONCAT", args: [1] }],
    ["a", { fn: "COALESCE", args: Array.from({ length: 51 }, () => "a") }],
    ["a", { fn: "UPPER", arg: [] }],
    ["a", { fn: "UPPER", args: {} }],
    ["a", ["UPPER"]],
    ["a", null]
  ])("%j %j is a mistake", (value, transform) => assert.match(String(transformed(value, transform)), /^mistake: /))

  const amount = fc
    .tuple(fc.boolean(), fc.bigInt({ min: 0n, max: 10n ** 30n }), fc.stringMatching(/^\d{1,6}$/))
    .map(([isNegative, whole, fraction]) => `${isNegative ? "-" : ""}${whole}.${fraction}`)

  it.prop("round to the nearest, never losing more than half a unit", [amount, fc.nat(8)], ([text, places]) => {
    const [exact, rounded] = [decimalOf(text), decimalOf(String(transformed(text, `ROUND(${places})`)))]
    assert.isDefined(exact)
    assert.isDefined(rounded)
    assert.strictEqual(rounded.scale, places)
    const unit = 10n ** 10n
    const scaled = ({ digits, scale }: typeof exact) => digits * 10n ** BigInt(20 - scale)
    const distance = scaled(rounded) - scaled(exact)
    assert.isTrue((distance < 0n ? -distance : distance) * 2n <= unit * 10n ** BigInt(10 - places))
  })

  it.prop("of amounts are written as they are read", [amount], ([text]) => {
    const one = decimalOf(text)
    assert.isDefined(one)
    assert.strictEqual(BigInt(decimalText(one).replace(".", "")), BigInt(text.replace(".", "")))
    assert.strictEqual(decimalText(multiplyDecimals(one, { digits: 1n, scale: 0 })), decimalText(one))
  })

  it.prop("read every number as it prints", [fc.double({ noNaN: true, noDefaultInfinity: true })], ([number]) => {
    const one = decimalOf(number)
    assert.isDefined(one)
    assert.strictEqual(Number(decimalText(one)), number === 0 ? 0 : number)
    assert.strictEqual(Number(decimalText(roundDecimal(one, one.scale))), number === 0 ? 0 : number)
  })
})
