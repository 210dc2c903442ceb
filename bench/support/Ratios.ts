/** Figures of measurements that were taken in turns. */

export const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN

/** The smallest, the median and the largest ratio of all rounds. */
export const ratios = <M>(own: ReadonlyArray<M>, other: ReadonlyArray<M>, of: (measurement: M) => number): string => {
  const ratioPerRound = own.map((measurement, round) => of(measurement) / of(other[round] ?? measurement))
  return [Math.min(...ratioPerRound), median(ratioPerRound), Math.max(...ratioPerRound)]
    .map((ratio) => ratio.toFixed(2))
    .join(" … ")
}
