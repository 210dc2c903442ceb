/**
 * Bounds what evaluating conditions costs. It counts steps rather than time, so that the same conditions and values always
 * give the same result. A step takes at most about 50 ns.
 */

/** The most steps for all filters of one event: 5 ms, since they are evaluated on the main loop. */
export const eventSteps = 100_000

/** The most steps for the condition of one answer of a provider: 25 ms, once for each answer. */
export const answerSteps = 500_000

/** The most steps for one condition of a flow: 0.3 s in a guest, where a step of a pattern takes about 3 µs. */
export const conditionSteps = 100_000

export class StepBudget {
  constructor(private left: number) {}

  get isExceeded(): boolean {
    return this.left < 0
  }

  /** Takes steps before they are made. Returns false if they may not be made. */
  take(steps: number): boolean {
    if (this.left >= 0) this.left -= steps
    return this.left >= 0
  }
}
