/** Cuts what a run costs on the main loop into slices, so that one run delays no other for long. */
import { type Clock, Duration, Effect } from "effect"

const sliceMillis = 10

/** A turn of the event loop: what came in meanwhile is dealt with. */
const others = Effect.sleep(Duration.zero)

export class TimeSlices {
  private since: number

  constructor(private readonly clock: Clock.Clock) {
    this.since = clock.unsafeCurrentTimeMillis()
  }

  get isOver(): boolean {
    return this.clock.unsafeCurrentTimeMillis() - this.since >= sliceMillis
  }

  /** Lets the others have their turn; the next slice begins after it. */
  readonly yield = Effect.map(others, () => {
    this.since = this.clock.unsafeCurrentTimeMillis()
  })
}
