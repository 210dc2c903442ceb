/** The figures of an upgrade: what calls took before and during it, and how long nodes were away. */
import type { TimedCall } from "./Load.js"

const quantile = (sorted: ReadonlyArray<number>, share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN

/** A line for each kind of calls: p50 and p99 in milliseconds before and during, and the ratio of the p99. */
export const latencyLines = (timed: ReadonlyArray<TimedCall>, before: string, during: string): ReadonlyArray<string> =>
  [...new Set(timed.map(({ kind }) => kind))].map((kind) => {
    const took = (phase: string) =>
      timed
        .filter((one) => one.kind === kind && one.phase === phase)
        .map((one) => one.took)
        .sort((a, b) => a - b)
    const [calm, busy] = [took(before), took(during)]
    const [first, second] = [quantile(calm, 0.99), quantile(busy, 0.99)]
    const figures = (all: ReadonlyArray<number>) =>
      `${all.length} calls, p50 ${quantile(all, 0.5).toFixed(1)}, p99 ${quantile(all, 0.99).toFixed(1)} ms`
    return `${kind}: ${before} ${figures(calm)}; ${during} ${figures(busy)}; p99 ${(second / first).toFixed(2)} times`
  })
