/**
 * Which requests the server accepts: all, also while it hands over; while it leaves, probes only; then none. Counts the
 * accepted ones until they are answered.
 */
import { Duration, Effect, Fiber, Schedule } from "effect"

/** What operators ask of a node that leaves. */
const probePath = /^\/(?:healthz|readyz|metrics)(?:\?|$)/

export class RequestGate {
  private state: "open" | "finishing" | "leaving" | "closed" = "open"
  private accepted = 0
  private refused = 0
  private refusedAt = Number.NEGATIVE_INFINITY

  /** Whether the node leaves or hands over: its connections close with their answers. */
  get isLeaving(): boolean {
    return this.state !== "open"
  }

  /** Whether it accepts connections that last. */
  get isOpen(): boolean {
    return this.state === "open"
  }

  /** Requests that are not answered yet. */
  get open(): number {
    return this.accepted + this.refused
  }

  /** Whether the request may be answered; counts it until `onClosed`. */
  admit(target: string): boolean {
    const isOpen = this.state === "open" || this.state === "finishing"
    const isAdmitted = isOpen || (this.state === "leaving" && probePath.test(target))
    this.count(isAdmitted, 1)
    // Probes come for as long as something answers.
    if (!isAdmitted && !probePath.test(target)) this.refusedAt = performance.now()
    return isAdmitted
  }

  /** For each request, when its response has closed. */
  onClosed(isAdmitted: boolean): void {
    this.count(isAdmitted, -1)
  }

  /** Accepts requests still, and lets their connections close with the answers. */
  finish(): void {
    if (this.state === "open") this.state = "finishing"
  }

  /** Refuses requests from now on, and waits at most `patience` for the answers to those that were accepted. */
  leave(patience: Duration.Duration): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.state = "leaving"
      this.refusedAt = performance.now()
      return until(() => this.accepted === 0, patience)
    })
  }

  /** Refuses probes, too. */
  close(): void {
    this.state = "closed"
  }

  /** Waits at most `patience` until no response is being written. */
  settled(patience: Duration.Duration): Effect.Effect<void> {
    return until(() => this.open === 0, patience)
  }

  /** Waits at most `patience` until it has refused nothing but probes for so long: until who sent requests here goes elsewhere. */
  quiet(period: Duration.Duration, patience: Duration.Duration): Effect.Effect<void> {
    return until(() => performance.now() - this.refusedAt >= Duration.toMillis(period), patience)
  }

  private count(isAdmitted: boolean, by: 1 | -1): void {
    if (isAdmitted) this.accepted += by
    else this.refused += by
  }
}

/** In a fiber of its own: one that runs finalisers has been interrupted, which would end the wait at once. */
const until = (isTrue: () => boolean, patience: Duration.Duration): Effect.Effect<void> =>
  Effect.sync(isTrue).pipe(
    Effect.repeat({ until: (done) => done, schedule: Schedule.spaced("10 millis") }),
    Effect.timeoutOption(patience),
    Effect.asVoid,
    // Finalisers are uninterruptible, and a time limit must end the wait.
    Effect.interruptible,
    Effect.forkDaemon,
    Effect.flatMap(Fiber.join)
  )
