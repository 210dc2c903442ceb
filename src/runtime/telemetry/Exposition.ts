/** Formats all metrics of the process for Prometheus (text format 0.0.4). */
import { type MetricLabel, type MetricPair, MetricState } from "effect"

type Labels = ReadonlyArray<MetricLabel.MetricLabel>

/** A value that is read at each scrape. */
export interface Gauge {
  readonly name: string
  readonly help: string
  readonly type: "gauge" | "counter"
  readonly value: number
  readonly labels?: { readonly [name: string]: string }
}

export const contentType = "text/plain; version=0.0.4; charset=utf-8"

/** Effect's own metrics have names that Prometheus does not allow. */
const nameOf = (name: string): string => name.replace(/[^A-Za-z0-9_:]/g, "_")
const escaped = (text: string): string =>
  text.replace(/[\\"\n]/g, (letter) => (letter === "\n" ? "\\n" : `\\${letter}`))
const helpText = (text: string): string => text.replace(/[\\\n]/g, (letter) => (letter === "\n" ? "\\n" : "\\\\"))

const labelText = (labels: Labels, ...more: ReadonlyArray<readonly [string, string]>): string => {
  const all = [...labels.map(({ key, value }) => [key, value] as const), ...more]
  return all.length === 0 ? "" : `{${all.map(([key, value]) => `${nameOf(key)}="${escaped(value)}"`).join(",")}}`
}

const bound = (value: number): string => (value === Infinity || value === Number.MAX_VALUE ? "+Inf" : String(value))

interface Sample {
  readonly type: "counter" | "gauge" | "histogram" | "summary"
  readonly lines: ReadonlyArray<string>
}

const histogram = (name: string, labels: Labels, state: MetricState.MetricState.Histogram): Sample => {
  const buckets = [...state.buckets].map(
    ([le, count]) => `${name}_bucket${labelText(labels, ["le", bound(le)])} ${count}`
  )
  const rest = buckets.some((line) => line.includes('le="+Inf"'))
    ? []
    : [`${name}_bucket${labelText(labels, ["le", "+Inf"])} ${state.count}`]
  return {
    type: "histogram",
    lines: [
      ...buckets,
      ...rest,
      `${name}_sum${labelText(labels)} ${state.sum}`,
      `${name}_count${labelText(labels)} ${state.count}`
    ]
  }
}

const sampleOf = (name: string, labels: Labels, state: MetricState.MetricState.Untyped): Sample | undefined => {
  if (MetricState.isCounterState(state))
    return { type: "counter", lines: [`${name}${labelText(labels)} ${String(state.count)}`] }
  if (MetricState.isGaugeState(state))
    return { type: "gauge", lines: [`${name}${labelText(labels)} ${String(state.value)}`] }
  if (MetricState.isHistogramState(state)) return histogram(name, labels, state)
  if (MetricState.isFrequencyState(state)) {
    return {
      type: "counter",
      lines: [...state.occurrences].map(([key, count]) => `${name}${labelText(labels, ["key", key])} ${count}`)
    }
  }
  return undefined
}

/** The text of all series, grouped by family. */
export const exposition = (
  pairs: ReadonlyArray<MetricPair.MetricPair.Untyped>,
  readings: ReadonlyArray<Gauge>
): string => {
  const families = new Map<string, { readonly heading: string; readonly lines: Array<string> }>()
  const add = (name: string, help: string, type: string, lines: ReadonlyArray<string>) => {
    const heading = `# HELP ${name} ${helpText(help)}\n# TYPE ${name} ${type}`
    const family = families.get(name) ?? { heading, lines: [] }
    family.lines.push(...lines)
    families.set(name, family)
  }
  for (const { name, help, labels = {}, type, value } of readings)
    add(name, help, type, [`${name}${labelText([], ...Object.entries(labels))} ${value}`])
  for (const { metricKey, metricState } of pairs) {
    const name = nameOf(metricKey.name)
    const sample = sampleOf(name, metricKey.tags, metricState)
    if (sample === undefined) continue
    const help = metricKey.description._tag === "Some" ? metricKey.description.value : name
    add(name, help, sample.type, sample.lines)
  }
  return `${[...families.values()].map(({ heading, lines }) => [heading, ...lines].join("\n")).join("\n")}\n`
}
