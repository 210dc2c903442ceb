/**
 * How often what is shown of a topic is read again while it changes: at once, then once a second at most; while it changes so
 * fast that the watch tells numbers only, once in ten seconds, so that many open consoles take little from the runs they show.
 */

/** Milliseconds between reads. */
const pauses = { single: 1_000, many: 10_000 } as const

export class ReadPace {
  private readAt = Number.NEGATIVE_INFINITY
  private manyAt = Number.NEGATIVE_INFINITY

  /** Notes a change, and returns the milliseconds until the next read. `isMany`: the watch told a number. */
  changed(isMany: boolean, now: number): number {
    if (isMany) this.manyAt = now
    const pause = now - this.manyAt < pauses.many ? pauses.many : pauses.single
    return Math.max(0, this.readAt + pause - now)
  }

  read(now: number): void {
    this.readAt = now
  }
}
