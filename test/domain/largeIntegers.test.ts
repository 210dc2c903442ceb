/** Integers beyond 2^53 are found in a JSON text: quoted where they are asked for as text, else named. */
import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"
import { askedTexts, everyText } from "../../src/domain/AskedTexts.js"
import { hasLongDigits, readLargeIntegers, roundedWithin } from "../../src/domain/LargeIntegers.js"

const shopify = "820982911946154508"
const bytes = (text: string) => new TextEncoder().encode(text)
const reading = (text: string, asked?: Parameters<typeof readLargeIntegers>[1]) => {
  const read = readLargeIntegers(text, asked)
  return { value: JSON.parse(read.text), rounded: read.rounded }
}

describe("large integers", () => {
  it("are named by their paths, and left as they are", () => {
    const text = `{"id":${shopify},"a\\u0062":[1,{"x":-${shopify}}],"kept":9007199254740992,"low":9007199254740991,"f":${shopify}.5}`
    assert.deepStrictEqual(reading(text), {
      value: JSON.parse(text),
      rounded: { paths: ["id", "ab[1].x"], more: false }
    })
  })

  it("become the text that was sent where everything is asked for, also those that no parser rounds", () => {
    const text = `[${shopify}, -${shopify}, 9007199254740992, 9007199254740991, 1e30, "${shopify}", {"n" : ${shopify} }]`
    assert.deepStrictEqual(reading(text, everyText), {
      value: [shopify, `-${shopify}`, "9007199254740992", 9007199254740991, 1e30, shopify, { n: shopify }],
      rounded: undefined
    })
  })

  it("become text where a contract says string and no number, through references, branches and lists", () => {
    const contract = {
      $ref: "#/$defs/order",
      $defs: {
        id: { type: ["string", "null"] },
        order: {
          properties: { id: { $ref: "#/$defs/id" }, n: { type: "integer" }, either: { type: ["string", "number"] } },
          additionalProperties: { anyOf: [{ items: { type: "string" } }, { type: "null" }] }
        }
      }
    }
    const text = `{"id":${shopify},"n":${shopify},"either":${shopify},"rest":[${shopify}],"__proto__":${shopify}}`
    const { rounded, value } = reading(text, askedTexts([{ type: "object" }, contract]))
    assert.deepStrictEqual([value.id, value.rest], [shopify, [shopify]])
    assert.deepStrictEqual(rounded, { paths: ["n", "either", "__proto__"], more: false })
  })

  it("are named up to twenty, with a word that there are more", () => {
    const list = (n: number) => `[${Array.from({ length: n }, () => shopify).join(",")}]`
    assert.deepStrictEqual(reading(list(20)).rounded?.more, false)
    const { rounded } = reading(list(21))
    assert.deepStrictEqual([rounded?.paths.length, rounded?.paths[19], rounded?.more], [20, "[19]", true])
    assert.deepStrictEqual(roundedWithin({ paths: ["a[1].id", "a[10].id", "a[1]"], more: false }, "a[1]"), {
      paths: ["id", ""],
      more: false
    })
  })

  it("make no text valid that is not", () => {
    for (const text of [
      `{${shopify}:1}`,
      `[0${shopify}]`,
      `[--${shopify}]`,
      `[${shopify} 1]`,
      `{"a" ${shopify}}`,
      `]]${shopify}`
    ])
      assert.throws(() => JSON.parse(readLargeIntegers(text, everyText).text), SyntaxError)
  })

  it.prop(
    "are as they would be read by BigInt, whatever else the text has",
    [FastCheck.json(), FastCheck.bigInt()],
    ([json, n]) => {
      const read = reading(`{"before":${json},"n":${n},"after":${json}}`, everyText).value
      assert.strictEqual(BigInt(read.n), n)
      assert.strictEqual(typeof read.n === "number", Number.isSafeInteger(read.n))
    }
  )

  it.prop(
    "are looked for if a text has sixteen digits in a row",
    [FastCheck.stringMatching(/^[a1]{0,80}$/)],
    ([text]) => {
      assert.strictEqual(hasLongDigits(bytes(text)), /\d{16}/.test(text))
    }
  )
})
