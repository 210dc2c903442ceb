/** What Prometheus keeps of scrapes: samples with their labels and times. */
import { assert } from "@effect/vitest"

export type Labels = Readonly<Record<string, string>>

export interface Sample {
  readonly name: string
  readonly labels: Labels
  readonly value: number
}

/** All samples of one scrape of one target, whose labels they have beside their own. */
export interface Scrape {
  /** In seconds. */
  readonly at: number
  readonly samples: ReadonlyArray<Sample>
}

/** A series with its points in the order of time. */
export interface Series {
  readonly labels: Labels
  readonly points: ReadonlyArray<{ readonly at: number; readonly value: number }>
}

const unescaped = (text: string): string =>
  text.replaceAll(/\\(.)/g, (_, letter: string) => (letter === "n" ? "\n" : letter))

const labelsIn = (text: string): Labels =>
  Object.fromEntries(
    [...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, name = "", value = ""]) => [name, unescaped(value)])
  )

/** The samples of a page in Prometheus' text format. */
export const samplesIn = (text: string, target: Labels): ReadonlyArray<Sample> =>
  text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [, name, labels = "", value] = /^([\w:]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
      if (name === undefined || value === undefined) return assert.fail(`not a sample: ${line}`)
      return { name, labels: { ...labelsIn(labels), ...target }, value: Number(value) }
    })

/** Which samples an expression asks for. */
export interface Selector {
  readonly name: string
  readonly equal: Labels
}

/** The series that a selector finds, with their points after `from` and until `to`. */
export const seriesOf = (
  scrapes: ReadonlyArray<Scrape>,
  { equal, name }: Selector,
  from: number,
  to: number
): ReadonlyArray<Series> => {
  const found = new Map<string, { readonly labels: Labels; readonly points: Array<Series["points"][number]> }>()
  for (const { at, samples } of scrapes) {
    if (at <= from || at > to) continue
    for (const sample of samples) {
      if (sample.name !== name || Object.entries(equal).some(([label, value]) => sample.labels[label] !== value))
        continue
      const key = keyOf(sample.labels)
      const series = found.get(key) ?? { labels: sample.labels, points: [] }
      series.points.push({ at, value: sample.value })
      found.set(key, series)
    }
  }
  return [...found.values()]
}

/** The same text for the same labels. */
export const keyOf = (labels: Labels): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .sort()
    .join()
