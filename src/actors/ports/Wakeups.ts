/** Says that there is something new to do, so that nobody need poll for it. Opening a latch twice says it once. */
import { Context, type Effect } from "effect"

export class Wakeups extends Context.Tag("svc/Wakeups")<
  Wakeups,
  {
    /** Called after a commit that put a run in the start queue. */
    readonly signalQueued: () => void
    /** Waits until something was queued since the last wait ended. */
    readonly awaitQueued: Effect.Effect<void>
    readonly signalDelivery: () => void
    readonly awaitDelivery: Effect.Effect<void>
  }
>() {}
