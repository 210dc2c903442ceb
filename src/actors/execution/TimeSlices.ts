/**
 * Cuts what runs cost on the main loop into slices. Runs whose slice is over go on one at a time, organisations in turn,
 * and the event loop deals with everything else before each of them: many busy runs delay others no more than one.
 */
import { type Clock, Duration, Effect } from "effect"
import type { OrganisationId } from "../../domain/Ids.js"

const sliceMillis = 5

/** A turn of the event loop: what came in meanwhile is dealt with. */
const others = Effect.sleep(Duration.zero)

interface Waiter {
  readonly organisationId: OrganisationId
  isNext: boolean
  resume: () => void
}

/** The order in which busy runs of one node go on. */
export class SliceOrder {
  /** By organisation, the one that is served next first. */
  private readonly waiting = new Map<OrganisationId, Array<Waiter>>()
  private isTaken = false

  constructor(private readonly clock: Clock.Clock) {}

  /** The slices of one run, the first of which begins now. */
  of(organisationId: OrganisationId): TimeSlices {
    return new TimeSlices(this.clock, () => this.turn(organisationId))
  }

  private turn(organisationId: OrganisationId): Effect.Effect<void> {
    const release = Effect.sync(() => this.release())
    return Effect.uninterruptibleMask((restore) =>
      Effect.suspend(() => {
        if (!this.isTaken) {
          this.isTaken = true
          return Effect.ensuring(restore(others), release)
        }
        const waiter: Waiter = { organisationId, isNext: false, resume: () => undefined }
        const waited = Effect.onInterrupt(restore(this.wait(waiter)), () => Effect.sync(() => this.leave(waiter)))
        // Twice: the slice before this one may take as long as the first.
        return Effect.zipRight(waited, Effect.ensuring(restore(Effect.zipRight(others, others)), release))
      })
    )
  }

  private wait(waiter: Waiter): Effect.Effect<void> {
    return Effect.async((resume) => {
      waiter.resume = () => resume(Effect.void)
      const own = this.waiting.get(waiter.organisationId)
      if (own === undefined) this.waiting.set(waiter.organisationId, [waiter])
      else own.push(waiter)
    })
  }

  private leave(waiter: Waiter): void {
    if (waiter.isNext) return this.release()
    const own = this.waiting.get(waiter.organisationId)?.filter((other) => other !== waiter) ?? []
    if (own.length === 0) this.waiting.delete(waiter.organisationId)
    else this.waiting.set(waiter.organisationId, own)
  }

  /** The next organisation's longest waiting run goes on; that organisation is served last from then on. */
  private release(): void {
    for (const [organisationId, own] of this.waiting) {
      const waiter = own.shift()
      this.waiting.delete(organisationId)
      if (own.length > 0) this.waiting.set(organisationId, own)
      if (waiter === undefined) continue
      waiter.isNext = true
      return waiter.resume()
    }
    this.isTaken = false
  }
}

export class TimeSlices {
  private since: number

  constructor(
    private readonly clock: Clock.Clock,
    private readonly turn: () => Effect.Effect<void>
  ) {
    this.since = clock.unsafeCurrentTimeMillis()
  }

  /** Waits until the run may go on; the next slice begins then. */
  get yield(): Effect.Effect<void> {
    return Effect.map(this.turn(), () => this.restart())
  }

  /** A new slice begins: the run has waited for something else. */
  restart(): void {
    this.since = this.clock.unsafeCurrentTimeMillis()
  }

  get isOver(): boolean {
    return this.clock.unsafeCurrentTimeMillis() - this.since >= sliceMillis
  }

  /** Takes all steps, as many in a slice as fit. It cannot be interrupted between them. */
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
