/**
 * Cuts the work of runs on the main thread into time slices. Runs whose slice is over continue one at a time, round-robin
 * by account and organisation, and yield to the event loop before each slice, so that many busy runs delay others no more than one.
 */
import { type Clock, Duration, Effect } from "effect"
import { FairQueue } from "../../../domain/share/FairQueue.js"
import type { ShareOwner } from "../../../domain/share/ShareOwner.js"

const sliceMillis = 5

/** One turn of the event loop: events that arrived meanwhile are handled. */
const awaitEventLoop = Effect.sleep(Duration.zero)

interface Waiter {
  readonly owner: ShareOwner
  isNext: boolean
  resume: () => void
}

/** Grants the busy runs of one node their next slices, round-robin by account and organisation. */
export class SliceOrder {
  private readonly waiting = new FairQueue<Waiter>()
  private isTaken = false

  constructor(private readonly clock: Clock.Clock) {}

  /** The time slices of one run; the first begins now. */
  of(owner: ShareOwner): TimeSlices {
    return new TimeSlices(this.clock, () => this.turn(owner))
  }

  private turn(owner: ShareOwner): Effect.Effect<void> {
    const release = Effect.sync(() => this.release())
    return Effect.uninterruptibleMask((restore) =>
      Effect.suspend(() => {
        if (!this.isTaken) {
          this.isTaken = true
          return Effect.ensuring(restore(awaitEventLoop), release)
        }
        const waiter: Waiter = { owner, isNext: false, resume: () => undefined }
        const waited = Effect.onInterrupt(restore(this.wait(waiter)), () => Effect.sync(() => this.leave(waiter)))
        // Two turns, because the previous run may use its slice in the first one.
        return Effect.zipRight(
          waited,
          Effect.ensuring(restore(Effect.zipRight(awaitEventLoop, awaitEventLoop)), release)
        )
      })
    )
  }

  private wait(waiter: Waiter): Effect.Effect<void> {
    return Effect.async((resume) => {
      waiter.resume = () => resume(Effect.void)
      this.waiting.add(waiter.owner, waiter)
    })
  }

  private leave(waiter: Waiter): void {
    if (waiter.isNext) this.release()
    else this.waiting.remove(waiter.owner, waiter)
  }

  /** Resumes the run that is next. */
  private release(): void {
    const next = this.waiting.take()
    this.isTaken = next !== undefined
    if (next === undefined) return
    next.isNext = true
    next.resume()
  }
}

/** The time slices of one run. */
export class TimeSlices {
  private since: number

  constructor(
    private readonly clock: Clock.Clock,
    private readonly turn: () => Effect.Effect<void>
  ) {
    this.since = clock.unsafeCurrentTimeMillis()
  }

  /** Waits for the run's next slice and begins it. */
  get yield(): Effect.Effect<void> {
    return Effect.map(this.turn(), () => this.restart())
  }

  /** Begins a new slice, after the run has waited for something else. */
  restart(): void {
    this.since = this.clock.unsafeCurrentTimeMillis()
  }

  get isOver(): boolean {
    return this.clock.unsafeCurrentTimeMillis() - this.since >= sliceMillis
  }

  /** Takes all steps over as many slices as needed, uninterruptibly. */
  through(steps: Iterable<void>): Effect.Effect<void> {
    return Effect.suspend(() => {
      const left = steps[Symbol.iterator]()
      const proceed: Effect.Effect<void> = Effect.suspend(() => {
        while (left.next().done !== true) if (this.isOver) return Effect.zipRight(this.yield, proceed)
        return Effect.void
      })
      return Effect.uninterruptible(proceed)
    })
  }
}
