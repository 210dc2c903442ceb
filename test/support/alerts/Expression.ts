/**
 * The part of Prometheus' language that the alert rules may use: a metric with labels that are equal to a text, `rate` and
 * `increase` over a range, `sum` and `max`, also by labels, and a comparison with a number. Anything else is no expression.
 */
import { keyOf, type Labels, type Scrape, type Selector, seriesOf } from "./Samples.js"

type Operator = ">" | ">=" | "<" | "<=" | "==" | "!="

export type Expression =
  | { readonly _tag: "Select"; readonly selector: Selector }
  | { readonly _tag: "Grow"; readonly how: "rate" | "increase"; readonly selector: Selector; readonly seconds: number }
  | {
      readonly _tag: "Aggregate"
      readonly how: "sum" | "max"
      readonly by: ReadonlyArray<string>
      readonly of: Expression
    }
  | { readonly _tag: "Compare"; readonly operator: Operator; readonly bound: number; readonly of: Expression }

export interface Value {
  readonly labels: Labels
  readonly value: number
}

const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 }

/** The seconds of a duration such as `5m`. */
export const secondsOf = (text: string): number => {
  const [, amount = "", unit = ""] = /^(\d+)([smhd])$/.exec(text) ?? []
  if (amount === "") throw new Error(`${JSON.stringify(text)} is no duration`)
  return Number(amount) * (units[unit] ?? 0)
}

// --- Reading ---

const token =
  /\s*(?:(\d+[smhd])(?!\w)|(-?\d+(?:\.\d+)?)(?!\w)|([A-Za-z_:][\w:]*)|("(?:[^"\\]|\\.)*")|(>=|<=|==|!=|[><(){}[\],=]))/y

const tokensOf = (text: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  token.lastIndex = 0
  while (token.lastIndex < text.trimEnd().length) {
    const at = token.lastIndex
    const match = token.exec(text)
    if (match === null) throw new Error(`not understood: ${JSON.stringify(text.slice(at))}`)
    found.push(match[0].trim())
  }
  return found
}

/** Reads an expression; throws at the first thing that is not of the subset. */
export const parseExpression = (text: string): Expression => {
  const tokens = [...tokensOf(text)]
  const next = (): string => tokens.shift() ?? ""
  const expect = (wanted: string) => {
    const found = next()
    if (found !== wanted) throw new Error(`${JSON.stringify(wanted)} is expected instead of ${JSON.stringify(found)}`)
  }
  const name = (): string => {
    const found = next()
    if (!/^[A-Za-z_:][\w:]*$/.test(found)) throw new Error(`${JSON.stringify(found)} is no name`)
    return found
  }
  /** Between `open` and `close`, separated by commas. */
  const list = <A>(open: string, close: string, item: () => A): ReadonlyArray<A> => {
    expect(open)
    const items: Array<A> = []
    while (tokens[0] !== close) {
      if (items.length > 0) expect(",")
      items.push(item())
    }
    expect(close)
    return items
  }
  const selector = (metric: string): Selector => {
    const equal = (): readonly [string, string] => {
      const label = name()
      expect("=")
      const text: unknown = JSON.parse(next())
      if (typeof text !== "string") throw new Error(`${label} must be equal to a text`)
      return [label, text]
    }
    return { name: metric, equal: tokens[0] === "{" ? Object.fromEntries(list("{", "}", equal)) : {} }
  }
  const operand = (): Expression => {
    const word = name()
    if (word === "sum" || word === "max") {
      const by = () => {
        if (tokens[0] !== "by") return undefined
        next()
        return list("(", ")", name)
      }
      const before = by()
      expect("(")
      const of = operand()
      expect(")")
      return { _tag: "Aggregate", how: word, by: before ?? by() ?? [], of }
    }
    if (word === "rate" || word === "increase") {
      expect("(")
      const of = selector(name())
      expect("[")
      const seconds = secondsOf(next())
      expect("]")
      expect(")")
      return { _tag: "Grow", how: word, selector: of, seconds }
    }
    if (tokens[0] === "(") throw new Error(`there is no function ${word}`)
    return { _tag: "Select", selector: selector(word) }
  }
  const of = operand()
  if (tokens.length === 0) return of
  const operator = next()
  if (!isOperator(operator)) throw new Error(`${JSON.stringify(operator)} is no comparison`)
  const bound = next()
  if (!/^-?\d+(?:\.\d+)?$/.test(bound) || tokens.length > 0) throw new Error(`a number is expected after ${operator}`)
  return { _tag: "Compare", operator, bound: Number(bound), of }
}

const isOperator = (text: string): text is Operator => [">", ">=", "<", "<=", "==", "!="].includes(text)

// --- Evaluation ---

/** A sample that is older than this is not the present value. */
const staleSeconds = 300

/** What the expression is at this time: one value for each set of labels. */
export const evaluate = (expression: Expression, scrapes: ReadonlyArray<Scrape>, at: number): ReadonlyArray<Value> => {
  switch (expression._tag) {
    case "Select": {
      const present = seriesOf(scrapes, expression.selector, at - staleSeconds, at)
      const latest = latestOf(scrapes, at)
      return present.flatMap(({ labels, points }) => {
        const last = points.at(-1)
        // A series that the last scrape of its target no longer had is stale.
        return last === undefined || last.at < (latest.get(targetOf(labels)) ?? 0)
          ? []
          : [{ labels, value: last.value }]
      })
    }
    case "Grow": {
      const { how, seconds, selector } = expression
      return seriesOf(scrapes, selector, at - seconds, at).flatMap(({ labels, points }) => {
        const increase = increaseOf(points, at - seconds, at)
        return increase === undefined ? [] : [{ labels, value: how === "rate" ? increase / seconds : increase }]
      })
    }
    case "Aggregate": {
      const groups = new Map<string, { readonly labels: Labels; readonly values: Array<number> }>()
      for (const { labels, value } of evaluate(expression.of, scrapes, at)) {
        const kept = Object.fromEntries(
          expression.by.flatMap((name) => (labels[name] === undefined ? [] : [[name, labels[name]]]))
        )
        const group = groups.get(keyOf(kept)) ?? { labels: kept, values: [] }
        group.values.push(value)
        groups.set(keyOf(kept), group)
      }
      return [...groups.values()].map(({ labels, values }) => ({
        labels,
        value: expression.how === "sum" ? values.reduce((sum, one) => sum + one, 0) : Math.max(...values)
      }))
    }
    case "Compare":
      return evaluate(expression.of, scrapes, at).filter(({ value }) =>
        holds(value, expression.operator, expression.bound)
      )
  }
}

const targetOf = ({ instance = "" }: Labels): string => instance

/** When each target was scraped last. */
const latestOf = (scrapes: ReadonlyArray<Scrape>, until: number): ReadonlyMap<string, number> => {
  const latest = new Map<string, number>()
  for (const { at, samples } of scrapes)
    if (at <= until) for (const { labels } of samples) latest.set(targetOf(labels), at)
  return latest
}

const holds = (value: number, operator: Operator, bound: number): boolean =>
  operator === ">"
    ? value > bound
    : operator === ">="
      ? value >= bound
      : operator === "<"
        ? value < bound
        : operator === "<="
          ? value <= bound
          : operator === "=="
            ? value === bound
            : value !== bound

/**
 * How much a counter has grown between two times, as Prometheus estimates it: what it grew between the first and the last point,
 * over resets, extended towards the ends of the range by no more than the points lead one to expect.
 */
const increaseOf = (
  points: ReadonlyArray<{ readonly at: number; readonly value: number }>,
  from: number,
  to: number
): number | undefined => {
  const [first] = points
  const last = points.at(-1)
  if (first === undefined || last === undefined || points.length < 2) return undefined
  const grown = points.slice(1).reduce((sum, { value }, at) => {
    const before = points[at]?.value ?? 0
    return sum + (value < before ? value : value - before)
  }, 0)
  const sampled = last.at - first.at
  const between = sampled / (points.length - 1)
  const reach = (gap: number) => (gap < between * 1.1 ? gap : between / 2)
  // No counter begins below zero.
  const sinceZero = grown > 0 && first.value >= 0 ? sampled * (first.value / grown) : Infinity
  const extended = sampled + Math.min(reach(first.at - from), sinceZero) + reach(to - last.at)
  return grown * (extended / sampled)
}
