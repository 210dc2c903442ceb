/** How `npm run measure` judges its figures. */
import { assert, describe, it } from "@effect/vitest"
import * as path from "node:path"

interface Figure {
  readonly value: number
  readonly bound: number
  readonly unit: string
}
type Figures = { readonly [name: string]: Figure }
// The script has no types.
const { betterOf, figureLine, figuresOf, isWithin, unsteadyWarning } = (await import(
  path.resolve("scripts/test/Measures.mjs")
)) as {
  readonly betterOf: (one: Figures, other: Figures) => Figures
  readonly figureLine: (figure: readonly [string, Figure]) => string
  readonly figuresOf: (report: string) => Figures
  readonly isWithin: (figure: Figure) => boolean
  readonly unsteadyWarning: (list: ReadonlyArray<unknown>) => string | undefined
}

const report = (...values: ReadonlyArray<number>) =>
  figuresOf(values.map((value) => `${JSON.stringify({ name: "a", value, bound: 10, unit: "ms" })}\n`).join(""))

describe("a measurement", () => {
  it("has the worst of the figures of one name in a round, and the best of its rounds", () => {
    assert.strictEqual(report(8, 12, 9)["a"]?.value, 12)
    const [first, second] = [report(12), report(9)]
    assert.isFalse(isWithin(betterOf(first, report(11))["a"] ?? assert.fail()))
    assert.isTrue(isWithin(betterOf(first, second)["a"] ?? assert.fail()))
    assert.deepStrictEqual(betterOf(second, first), second)
    assert.deepStrictEqual(betterOf({}, first), first)
  })

  it("at its bound is beyond it, and is shown beside it", () => {
    const figure = report(10)["a"] ?? assert.fail()
    assert.isFalse(isWithin(figure))
    assert.match(figureLine(["a", figure]), /^BEYOND +10 of 10 ms {2}a$/)
    assert.match(figureLine(["a", report(2.5)["a"] ?? assert.fail()]), /^ok +2\.50 of 10 ms {2}a$/)
  })

  it("warns of more than ten unsteady files", () => {
    assert.isUndefined(unsteadyWarning(Array.from({ length: 10 })))
    assert.match(unsteadyWarning(Array.from({ length: 11 })) ?? "", /11 entries/)
  })
})
