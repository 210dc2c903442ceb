/**
 * The evaluator of alert rules gives what Prometheus gives: the values of this table are those of `promtool test rules` for the
 * same series, with ranges that do not contain their beginning, as since Prometheus 3. What is not of the subset is refused.
 */
import { assert, describe, it } from "@effect/vitest"
import { evaluate, parseExpression } from "../support/alerts/Expression.js"
import { type AlertRule, alertRules, firing } from "../support/alerts/Rules.js"
import { keyOf, samplesIn, type Scrape } from "../support/alerts/Samples.js"

/** Series by their text, with their value at each minute; `null`: the scrape did not have it. */
const table: Readonly<Record<string, ReadonlyArray<number | null>>> = {
  'requests{instance="a",status="200"}': [0, 60, 120, 180, 240, 300],
  'requests{instance="b",status="200"}': [0, 30, 60, 90, 120, 150],
  'requests{instance="a",status="500"}': [null, null, 1, 1, 3, 3],
  'reset{instance="a"}': [100, 110, 5, 15, 25, 35],
  'queue{instance="a"}': [4, 5, 6, 7, 8, 9],
  'queue{instance="b"}': [4, 5, 6, 7, 8, 9],
  'failing{instance="a",task="x"}': [0, 0, 1, 1, 1, 1],
  'failing{instance="b",task="x"}': [0, 0, 0, 0, 0, 0],
  'failing{instance="b",task="y"}': [1, 1, 1, 1, 1, null]
}
const scrapes: ReadonlyArray<Scrape> = Array.from({ length: 6 }, (_, minute) => ({
  at: minute * 60,
  samples: Object.entries(table).flatMap(([series, values]) => {
    const value = values[minute] ?? null
    return value === null ? [] : samplesIn(`${series} ${value}`, {})
  })
}))

const valuesOf = (text: string, at = 300) =>
  Object.fromEntries(
    evaluate(parseExpression(text), scrapes, at).map(({ labels, value }) => [
      keyOf(labels),
      Math.round(value * 1e6) / 1e6
    ])
  )

describe("an expression", () => {
  it.each([
    ["a metric is its last values", "queue", { 'instance="a"': 9, 'instance="b"': 9 }],
    ["labels choose series", 'queue{instance="b"}', { 'instance="b"': 9 }],
    ["a series that is no longer scraped has no value", 'failing{task="y"}', {}],
    ["max", "max(queue)", { "": 9 }],
    ["sum", "sum(queue)", { "": 18 }],
    ["max by a label", "max by (task) (failing)", { 'task="x"': 1 }],
    ["the same with the labels after it", "max(failing) by (task)", { 'task="x"': 1 }],
    [
      "sum of rates by a label",
      "sum by (status) (rate(requests[5m]))",
      { 'status="200"': 1.5, 'status="500"': 0.007778 }
    ],
    ["increase", 'increase(requests{instance="a",status="200"}[2m])', { 'instance="a",status="200"': 120 }],
    [
      "increase of a series that begins within the range",
      'increase(requests{status="500"}[5m])',
      {
        'instance="a",status="500"': 2.333333
      }
    ],
    ["a reset counts from zero", "increase(reset[5m])", { 'instance="a"': 43.75 }],
    ["one point is no increase", "increase(queue[1m])", {}],
    ["a comparison keeps what it holds for", 'requests{status="200"} > 200', { 'instance="a",status="200"': 300 }],
    ["and nothing else", "max(queue) < 9", {}],
    ["equal", "failing == 0", { 'instance="b",task="x"': 0 }],
    ["not equal", "failing != 0", { 'instance="a",task="x"': 1 }],
    ["at least", "sum(queue) >= 18", { "": 18 }],
    ["at most", "sum(queue) <= 18", { "": 18 }]
  ] as ReadonlyArray<readonly [string, string, Readonly<Record<string, number>>]>)("%s", (_, text, expected) => {
    assert.deepStrictEqual(valuesOf(text), expected)
  })

  it.each([
    "queue +",
    "queue + 1",
    "avg(queue)",
    "histogram_quantile(0.9, queue)",
    'requests{status=~"5.."}',
    'requests{status!="500"}',
    "rate(requests)",
    "rate(requests[5x])",
    "rate(sum(requests)[5m])",
    "max(queue",
    "max by task (queue)",
    "queue > queue",
    "queue > 1 > 2",
    "1 < queue",
    "absent(queue)",
    "queue offset 5m",
    "queue and queue",
    "",
    "(queue)"
  ])("%j is refused", (text) => {
    assert.throws(() => parseExpression(text))
  })
})

describe("a rule", () => {
  const rule = (expr: string, wait?: string): AlertRule => ({
    alert: "Test",
    expr,
    ...(wait === undefined ? {} : { for: wait }),
    labels: { severity: "warning" },
    annotations: { summary: "", runbook: "" }
  })
  const times = scrapes.map(({ at }) => at)
  it("fires once it has held for as long as it says, for the labels for which it held all the time", () => {
    const x = [{ task: "x" }]
    assert.deepStrictEqual(firing(rule("max by (task) (failing) > 0"), scrapes, times), x)
    assert.deepStrictEqual(firing(rule("max by (task) (failing) > 0", "3m"), scrapes, times), x)
    assert.deepStrictEqual(firing(rule("max by (task) (failing) > 0", "4m"), scrapes, times), [])
    const before = times.slice(0, -1)
    assert.deepStrictEqual(firing(rule("max by (task) (failing) > 0", "4m"), scrapes, before), [{ task: "y" }])
  })
})

it("every alert is of the subset, and has a severity, a summary and a name of its own", () => {
  assert.isAtLeast(alertRules.length, 10)
  for (const one of alertRules) {
    assert.doesNotThrow(() => parseExpression(one.expr), undefined, one.alert)
    assert.oneOf(one.labels.severity, ["critical", "warning"])
    assert.match(one.annotations.summary, /^[A-Z].+\.$/)
  }
  assert.strictEqual(new Set(alertRules.map(({ alert }) => alert)).size, alertRules.length)
})
