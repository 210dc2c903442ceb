/**
 * How far the last run of each program went: while a run is not that far, more will follow, and what it has come to is
 * written while its guest computes. Only ever a guess: a wrong one costs one more write, or a wait, and nothing else.
 */

/** Programs that are remembered; the one that was learned first is forgotten first. */
const mostPrograms = 2_000

export class CallPrediction {
  private readonly calls = new Map<string, number>()

  /** Whether a run of the program that has made so many calls to the outside will probably make another. */
  goesOn(program: string, made: number): boolean {
    return made < (this.calls.get(program) ?? 0)
  }

  /** A run of the program has ended after so many. */
  learn(program: string, made: number): void {
    if (this.calls.get(program) === made) return
    const [oldest] = this.calls.keys()
    if (this.calls.size >= mostPrograms && oldest !== undefined) this.calls.delete(oldest)
    this.calls.set(program, made)
  }
}
