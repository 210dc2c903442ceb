/** How busy this node is with accepting events. In a burst, accepting comes before running, for a limited time. */
import { Context } from "effect"

export class IntakeLoad extends Context.Tag("svc/IntakeLoad")<
  IntakeLoad,
  {
    /** An event arrived; the caller must call `end` when it is committed or refused. */
    readonly begin: () => void
    readonly end: () => void
    /** Whether accepting comes before running now: an accepted event waits in the start queue, and few runs are started. */
    readonly comesFirst: () => boolean
  }
>() {}
