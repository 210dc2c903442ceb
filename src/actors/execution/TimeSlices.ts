/** Cuts a run's work on the main thread into slices, so that one run delays the others by one slice at most. */
import { type Clock, Duration, Effect } from "effect"

const sliceMillis = 10

/** One turn of the event loop: events that arrived meanwhile are handled. */
const awaitEventLoop = Effect.sleep(Duration.zero)

export class TimeSlices {
  private since: number

  constructor(private readonly clock: Clock.Clock) {
    this.since = clock.unsafeCurrentTimeMillis()
  }

  get isOver(): boolean {
    return this.clock.unsafeCurrentTimeMillis() - this.since >= sliceMillis
  }

  /** Yields to the event loop and begins the next slice. */
  readonly yield = Effect.map(awaitEventLoop, () => {
    this.since = this.clock.unsafeCurrentTimeMillis()
  })
}
