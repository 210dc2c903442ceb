/**
 * The port `IntakeLoad`. While many events are being accepted at once, few runs of queued work are started, so that the
 * senders are answered soon: accepting an event takes a tenth of the processor time of its run. After a few seconds both
 * share the processor for as long, so a sender without end cannot stop the runs.
 */
import { Effect, Layer } from "effect"
import { intakeBurst } from "../../domain/run/StartPolicy.js"
import { IntakeLoad } from "../ports/event/IntakeLoad.js"
import { Wakeups } from "../ports/run/Wakeups.js"
import { pollWhileBusy } from "../PollWhileBusy.js"

const { calmMillis, manyEvents, preferredMillis } = intakeBurst

/** Decides whether accepting comes first. Times in milliseconds. */
export class Burst {
  private accepting = 0
  private busyUntil = -Infinity
  /** When `preferredMillis` were used up, so much time must pass without preference. */
  private remaining = preferredMillis
  private isExhausted = false
  private isFirst = false
  private updatedAt = -Infinity

  /** `true` when a burst begins. */
  begin(now: number): boolean {
    this.accepting++
    if (this.accepting < manyEvents) return false
    const isNew = this.isOver(now)
    this.busyUntil = now + calmMillis
    return isNew
  }

  end(): void {
    this.accepting--
  }

  isOver(now: number): boolean {
    return now >= this.busyUntil
  }

  comesFirst(now: number): boolean {
    const elapsed = now - this.updatedAt
    this.updatedAt = now
    this.remaining = Math.min(preferredMillis, this.isFirst ? this.remaining - elapsed : this.remaining + elapsed)
    if (this.remaining <= 0) this.isExhausted = true
    else if (this.remaining >= preferredMillis) this.isExhausted = false
    this.isFirst = !this.isOver(now) && !this.isExhausted
    return this.isFirst
  }
}

export const layer = Layer.scoped(
  IntakeLoad,
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    const wakeups = yield* Wakeups
    const burst = new Burst()
    const now = () => clock.unsafeCurrentTimeMillis()
    // Queued work that a burst kept waiting is looked for again.
    const watch = yield* pollWhileBusy(
      calmMillis / 4,
      Effect.sync(() => {
        if (!burst.comesFirst(now())) wakeups.signalSlot()
        return !burst.isOver(now())
      })
    )
    return IntakeLoad.of({
      begin: () => {
        if (burst.begin(now())) watch()
      },
      end: () => burst.end(),
      comesFirst: () => burst.comesFirst(now())
    })
  })
)
