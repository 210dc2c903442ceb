/**
 * Predicts whether a run will make another call to the outside: the previous run of the same program did. A wrong guess
 * costs one commit more or one wait, never correctness.
 */

import { RecentMap } from "../../../domain/RecentMap.js"

const maxPrograms = 2_000

/** The number of outside calls of the last run of each program. */
export class CallPrediction {
  private readonly calls = new RecentMap<string, number>(maxPrograms)

  /** Whether a run of the program that has made `callCount` calls to the outside will probably make another. */
  expectsCall(program: string, callCount: number): boolean {
    return callCount < (this.calls.get(program) ?? 0)
  }

  /** Records that a run of the program ended after `callCount` calls. */
  learn(program: string, callCount: number): void {
    if (this.calls.get(program) !== callCount) this.calls.set(program, callCount)
  }
}
