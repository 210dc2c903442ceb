/** Jain's index of fairness: 1 for equal shares, 1/n if one of n has everything. */
export const jain = (shares: ReadonlyArray<number>): number => {
  const sum = shares.reduce((a, b) => a + b, 0)
  return sum ** 2 / (shares.length * shares.reduce((a, b) => a + b * b, 0))
}
