/** A comparison whose report would be far larger than the lists is given up early. */
import { assert, it } from "@effect/vitest"
import { compareLists } from "../../../../src/domain/diff/ListComparison.js"
import type { Json } from "../../../../src/domain/Json.js"
import { assertWithin } from "../../../support/pace.js"

/** Whether the comparison is given up, since there are too many differences. */
const isGivenUp = (source: ReadonlyArray<Json>, target: ReadonlyArray<Json>): boolean => {
  const work = compareLists({ source, target, key: ["id"], fields: null, ignore: [] })
  for (;;) {
    const next = work.next()
    if (next.done === true) return next.value === undefined
  }
}

it("a comparison is given up in time where a report would be far larger than the lists: a long name stands in all paths below it", () => {
  const members = (value: number) => Object.fromEntries(Array.from({ length: 30_000 }, (_, n) => [`m${n}`, value]))
  const below = (name: string, value: number) => [{ id: 1, [name]: members(value) }]
  assert.isFalse(isGivenUp(below("a", 1), below("a", 2)))
  const started = performance.now()
  assert.isTrue(isGivenUp(below("x".repeat(1_000_000), 1), below("x".repeat(1_000_000), 2)))
  const deep = (value: number) =>
    Array.from({ length: 200 }).reduce<Json>((inner) => ({ deeper: inner }), members(value))
  assert.isTrue(isGivenUp([{ id: 1, deep: deep(1) }], [{ id: 1, deep: deep(2) }]))
  const wide = (value: number) => Array.from({ length: 60_000 }, (_, id): Json => ({ id, a: value, b: value }))
  assert.isTrue(isGivenUp(wide(1), wide(2)))
  assertWithin(performance.now() - started, 2_000)
})
