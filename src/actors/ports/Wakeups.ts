/** Wakes background tasks of this node when there is new work, so that they need not poll. Signals are coalesced. */
import { Context, type Effect } from "effect"

export class Wakeups extends Context.Tag("svc/Wakeups")<
  Wakeups,
  {
    /** Called after a commit that put a run in the start queue. */
    readonly signalQueued: () => void
    /** Waits until a run was queued since the last wait ended. */
    readonly awaitQueued: Effect.Effect<void>
    readonly signalDelivery: () => void
    readonly awaitDelivery: Effect.Effect<void>
  }
>() {}
