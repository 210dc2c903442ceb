/** What a wait's `until` and the value of a condition may be, in the documents of flows. */
import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"
import { meets } from "../../../src/domain/expression/GuestLibrary.js"
import { timeOf } from "../../../src/domain/flow/WaitTime.js"
import type { Json } from "../../../src/domain/Json.js"
import { compileFlow } from "../../../src/runtime/computing/workflow/FlowCompile.js"

const at = Date.UTC(2026, 10, 30, 12)
const compiled = (steps: ReadonlyArray<object>) =>
  compileFlow({ at, name: "f", spec: { steps } as unknown as Json, connectors: {} })
const warnings = (steps: ReadonlyArray<object>) =>
  Either.getOrThrow(compiled(steps)).warnings.map((one) => ("path" in one ? [one.path, one.code] : []))

describe("A time", () => {
  it.each([
    ["2026-11-30T12:00:00Z", at],
    ["2026-11-30t13:00:00.000+01:00", at],
    ["2026-11-30 12:00:00z", at],
    ["2026-11-30", Date.UTC(2026, 10, 30)],
    ["2024-02-29", Date.UTC(2024, 1, 29)],
    [at, at],
    [at / 1000, at],
    [String(at / 1000), at],
    [0, 0]
  ])("is what it says: %s", (value, expected) => assert.strictEqual(timeOf(value), expected))

  it.each([
    "order 5",
    "2026-09-31",
    "2026-09-31T10:00:00Z",
    "2026-02-29",
    "2026-11-30T12:00:00",
    "2026-11-30T25:00:00Z",
    "2026-11-30T12:00Z",
    "November 30, 2026",
    "",
    null,
    true,
    [],
    { at: 1 },
    1e300
  ])("is none in another form, or on a day that there is not: %j", (value) => assert.isNaN(timeOf(value)))
})

describe("A wait until a time", () => {
  const waits = (until: string) => [{ name: "w", type: "wait", config: { until } }]

  it("is refused where it is no time, unless an expression gives it", () => {
    assert.deepInclude(Either.getOrThrow(Either.flip(compiled(waits("2026-09-31"))))[0], {
      path: "steps[0].config.until",
      code: "INVALID_TIME"
    })
    assert.isEmpty(warnings(waits("{{input.at}}")))
  })

  it("is warned of more than 36 hours ahead", () => {
    assert.isEmpty(warnings(waits("2026-12-02T00:00:00Z")))
    assert.deepStrictEqual(warnings(waits("2026-12-02T00:00:01Z")), [["spec.steps[0].config.until", "TIME_TOO_FAR"]])
    assert.isEmpty(warnings(waits("2020-01-01")))
  })
})

describe("A condition's value", () => {
  const gate = (op: string, value: Json) => [
    { name: "a", type: "action" },
    {
      name: "g",
      type: "gate",
      config: { branches: [{ name: "same", when: { path: "steps.a.output", op, value }, steps: [] }] }
    }
  ]
  const place = "spec.steps[1].config.branches[0].when.value"

  it("may be one reference, which is evaluated with its type", () => {
    for (const b of [1, "1", null, { x: [1] }])
      assert.strictEqual(
        meets({ path: "a", op: "eq", value: "{{b}}" }, { a: { x: [1] }, b }),
        typeof b === "object" && b !== null
      )
    assert.isTrue(meets({ path: "a", op: "in", value: "{{b}}" }, { a: 1, b: [1, 2] }))
    assert.isTrue(meets({ not: { any: [{ path: "a", op: "gt", value: "{{ b }}" }] } }, { a: 1, b: 2 }))
    assert.isEmpty(warnings(gate("in", "{{input.list}}")))
  })

  it("is checked as a reference, and orders the steps", () => {
    const unknown = Either.getOrThrow(Either.flip(compiled(gate("eq", "{{steps.gone.output}}"))))
    assert.deepInclude(unknown[0], { path: "steps[1].config.branches[0].when.value", code: "UNKNOWN_STEP" })
    const [first, second] = gate("eq", "{{steps.later.output}}")
    const made = compiled([first ?? {}, second ?? {}, { name: "later", type: "action" }])
    assert.include(Either.getOrThrow(made).source, 'flow.gate("g", { after: ["later"]')
  })

  it("is compared as it is written where it has other braces, with a warning, and as a pattern always", () => {
    assert.isTrue(meets({ path: "a", op: "eq", value: "x {{b}}" }, { a: "x {{b}}", b: 1 }))
    assert.deepStrictEqual(warnings(gate("eq", "x {{input.b}}")), [[place, "NOT_EVALUATED"]])
    assert.deepStrictEqual(warnings(gate("in", ["{{input.b}}"])), [[place, "NOT_EVALUATED"]])
    assert.isEmpty(warnings(gate("matches", "a{2}")))
  })
})
