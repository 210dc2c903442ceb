/**
 * Which requests the server accepts: all, also while it hands over; while it leaves, probes only; then none. Counts the
 * accepted ones until they are answered.
 */
import { type Duration, Effect, Schedule } from "effect"

/** What operators ask of a node that leaves. */
const probePath = /^\/(?:healthz|readyz|metrics)(?:\?|$)/

export class RequestGate {
  private state: "open" | "finishing" | "leaving" | "closed" = "open"
  private accepted = 0
  private refused = 0

  /** Whether the node leaves or hands over: its connections close with their answers. */
  get isLeaving(): boolean {
    return this.state !== "open"
  }

  /** Whether the request may be answered; counts it until `onClosed`. */
  admit(target: string): boolean {
    const isOpen = this.state === "open" || this.state === "finishing"
    const isAdmitted = isOpen || (this.state === "leaving" && probePath.test(target))
    this.count(isAdmitted, 1)
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
      return until(() => this.accepted === 0, patience)
    })
  }

  /** Refuses probes, too. */
  close(): void {
    this.state = "closed"
  }

  /** Waits at most `patience` until no response is being written. */
  settled(patience: Duration.Duration): Effect.Effect<void> {
    return until(() => this.accepted + this.refused === 0, patience)
  }

  private count(isAdmitted: boolean, by: 1 | -1): void {
    if (isAdmitted) this.accepted += by
    else this.refused += by
  }
}

const until = (isTrue: () => boolean, patience: Duration.Duration): Effect.Effect<void> =>
  Effect.sync(isTrue).pipe(
    Effect.repeat({ until: (done) => done, schedule: Schedule.spaced("10 millis") }),
    Effect.timeoutOption(patience),
    Effect.asVoid,
    // Finalisers are uninterruptible, and a time limit must end the wait.
    Effect.interruptible
  )
