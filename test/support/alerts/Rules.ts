/** The alert rules of `deploy/prometheus/alerts.yaml`, and which of them fire over scrapes. */
import * as fs from "node:fs"
import { parse } from "yaml"
import { root } from "../deploy/Dockerfile.js"
import { evaluate, type Expression, parseExpression, secondsOf } from "./Expression.js"
import { keyOf, type Labels, samplesIn, type Scrape } from "./Samples.js"

export interface AlertRule {
  readonly alert: string
  readonly expr: string
  readonly for?: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly runbook: string }
}

export const alertRules: ReadonlyArray<AlertRule> = parse(
  fs.readFileSync(`${root}/deploy/prometheus/alerts.yaml`, "utf8")
).groups.flatMap(({ rules }: { readonly rules: ReadonlyArray<AlertRule> }) => rules)

const rules = new Map<string, Expression>()
const expressionOf = ({ expr }: AlertRule): Expression => {
  const parsed = rules.get(expr) ?? parseExpression(expr)
  rules.set(expr, parsed)
  return parsed
}

/** The label sets with which the rule has held at each of these times for as long as `for` says, at the last one. */
export const firing = (rule: AlertRule, scrapes: ReadonlyArray<Scrape>, times: ReadonlyArray<number>) => {
  const since = new Map<string, { readonly labels: Labels; readonly at: number }>()
  for (const at of times) {
    const held = new Map(evaluate(expressionOf(rule), scrapes, at).map(({ labels }) => [keyOf(labels), labels]))
    for (const key of since.keys()) if (!held.has(key)) since.delete(key)
    for (const [key, labels] of held) since.set(key, since.get(key) ?? { labels, at })
  }
  const now = times.at(-1) ?? 0
  const wanted = rule.for === undefined ? 0 : secondsOf(rule.for)
  return [...since.values()].filter(({ at }) => now - at >= wanted).map(({ labels }) => labels)
}

/** Reads the page of metrics of a node; fails if it cannot be reached. */
export type ReadMetrics = () => Promise<string>

/** Seconds of Prometheus between two scrapes. */
const interval = 30

/**
 * Prometheus over nodes: scrapes them and evaluates all rules after each scrape. Its clock is its own: each scrape is half a
 * minute after the one before, however soon it comes, so that a rule that must hold for minutes is judged by real scrapes within
 * a second.
 */
export const startPrometheus = () => {
  const scrapes: Array<Scrape> = []
  const times: Array<number> = []
  let now = 0

  const scrape = async (targets: ReadonlyMap<string, ReadMetrics>) => {
    now += interval
    for (const [instance, read] of targets) {
      const target = { instance, job: "svc" }
      const text = await read().catch(() => undefined)
      const samples = text === undefined ? [] : samplesIn(text, target)
      const up = { name: "up", labels: target, value: text === undefined ? 0 : 1 }
      scrapes.push({ at: now, samples: [...samples, up] })
    }
    times.push(now)
  }

  return {
    /** Scrapes so often. `between` runs before each scrape. */
    observe: async (
      targets: ReadonlyMap<string, ReadMetrics>,
      count: number,
      between: () => Promise<unknown> = async () => undefined
    ) => {
      for (let n = 0; n < count; n++) {
        await between()
        await scrape(targets)
      }
    },
    /** The names of the alerts that fire now, each with its label sets. */
    firing: (): ReadonlyMap<string, ReadonlyArray<Labels>> =>
      new Map(
        alertRules.flatMap((rule) => {
          const found = firing(rule, scrapes, times)
          return found.length === 0 ? [] : [[rule.alert, found] as const]
        })
      ),
    /** All names of metrics that were scraped. */
    names: (): ReadonlySet<string> => new Set(scrapes.flatMap(({ samples }) => samples.map(({ name }) => name))),
    scrapes: (): ReadonlyArray<Scrape> => scrapes
  }
}
