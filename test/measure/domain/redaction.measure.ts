/** Hiding secrets costs time by the length of the text and of the secrets. */
import { assert, describe, it } from "@effect/vitest"
import { makeScrubber } from "../../../src/domain/access/Redaction.js"
import { assertWithin } from "../../support/pace.js"

const within = (milliseconds: number, body: () => void) => {
  const start = performance.now()
  body()
  assertWithin(performance.now() - start, milliseconds)
}
const longest = 64 * 1024

describe("a scrubber", () => {
  it("with many secrets", () => {
    const scrubber = makeScrubber(Array.from({ length: 100 }, (_, at) => `secret-value-number-${at}`))
    const text = "nothing to see here, move along ".repeat(32_768)
    within(2_000, () => assert.strictEqual(scrubber.scrubText(text), text))
  })

  it("with secrets of the greatest length, added one by one", () => {
    const secrets = Array.from({ length: 30 }, (_, n) => `${n}:`.padEnd(longest, `value ${n} of a long secret `))
    const scrubber = makeScrubber([])
    within(5_000, () => {
      for (const one of secrets) scrubber.hide(one)
      assert.notInclude(scrubber.scrubText(`before ${secrets[7]} after`), "value 7")
    })
  })

  it("in a text of megabytes with thirty secrets of which no two parts are equal", () => {
    const scrubber = makeScrubber([])
    const part = (n: number) => (Math.imul(n, 2_654_435_761) >>> 0).toString(36).padStart(8, "z")
    for (let n = 0; n < 30; n++)
      scrubber.hide(Array.from({ length: longest / 8 }, (_, at) => part(n * 10_000 + at)).join(""))
    const text = Array.from({ length: 500_000 }, (_, at) => part(1_000_000 + at)).join("")
    within(5_000, () => assert.strictEqual(scrubber.scrubText(text), text))
  })

  it("with secrets and texts that repeat one letter, and a text that is nearly a secret everywhere", () => {
    const scrubber = makeScrubber(Array.from({ length: 30 }, (_, n) => `${"a".repeat(2_000 + n)}b`))
    within(3_000, () => void scrubber.scrubText("a".repeat(1_000_000)))
    const short = makeScrubber(Array.from({ length: 1_000 }, (_, n) => `aaaaaaaa${n}`))
    within(3_000, () => void short.scrubText("a".repeat(1_000_000)))
  })
})
