/** Figures of measurements, each beside its bound: `npm run measure` reads and judges them (`scripts/measure.mjs`). */
import { assert, expect } from "@effect/vitest"
import { appendFileSync } from "node:fs"

export interface Figure {
  /** What was measured, added to the name of the test; `""` if the test measures one thing. */
  readonly of: string
  /** Which of several inputs it is: of these the worst is shown. */
  readonly at?: string
  readonly value: number
  /** The value has to be below. */
  readonly bound: number
  readonly unit: "ms" | "MB" | "times" | "a second"
}

/**
 * Records a figure. Under `npm run measure` it fails nothing: a measurement fails if all rounds exceed its bound. Otherwise a
 * figure that is not below its bound fails the test.
 */
export const assertFigure = ({ at, bound, of, unit, value }: Figure): void => {
  const test = expect.getState().currentTestName ?? ""
  const name = of === "" ? test : `${test}: ${of}`
  const report = process.env["SVC_MEASURE_REPORT"]
  if (report === undefined) assert.isBelow(value, bound, at === undefined ? name : `${name} (${at})`)
  else appendFileSync(report, `${JSON.stringify({ name, at, value, bound, unit })}\n`)
}

/** Records bytes of memory beside their bound in bytes. */
export const assertBytes = (bytes: number, bound: number, of = ""): void =>
  assertFigure({ of, value: bytes / 1024 / 1024, bound: bound / 1024 / 1024, unit: "MB" })
