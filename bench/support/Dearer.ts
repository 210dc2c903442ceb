/** The rule on costs of the compare benches: a build whose runs take more CPU than those of the other build fails. */

/** A round counts as dearer above this ratio: the machine alone moves the CPU time of a run by a few percent. */
const limit = 1.08
/** One or two dearer rounds may be the machine's. */
const failingRounds = 3

/**
 * Whether CPU time a run rose by more than 8 % in three rounds. `own` and `other`: CPU milliseconds a run, by round.
 * Fewer rounds than three prove nothing.
 */
export const isDearer = (own: ReadonlyArray<number>, other: ReadonlyArray<number>): boolean =>
  own.filter((millis, round) => millis > limit * (other[round] ?? Infinity)).length >= failingRounds

/** Prints the words of a failure, and lets the bench end with exit code 1 after its other measurements. */
export const failDearer = (what: string): void => {
  console.error(
    `FAILED: ${what} takes over 8 % more CPU a run than the other build in ${failingRounds} rounds or more.`
  )
  process.exitCode = 1
}
