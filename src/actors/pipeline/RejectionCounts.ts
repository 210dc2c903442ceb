/** Bounds how many refused requests of a trigger are recorded. */
import { rejectionsPerMinute } from "../../domain/Limits.js"

/** Counts what was recorded of each trigger in the current minute. */
export class RejectionCounts {
  private minute = 0
  private readonly counts = new Map<string, number>()

  /** Counts one more; `false` if the trigger has no more room in this minute. */
  take(trigger: string, now: number): boolean {
    const minute = Math.floor(now / 60_000)
    if (minute !== this.minute) this.counts.clear()
    this.minute = minute
    const count = (this.counts.get(trigger) ?? 0) + 1
    this.counts.set(trigger, count)
    return count <= rejectionsPerMinute
  }
}
