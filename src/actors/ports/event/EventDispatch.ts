/** Where leased events go: the start queue hands them over as it hands over runs. */
import { Context, type Effect } from "effect"
import type { LeasedEvent } from "../run/StartQueue.js"

export class EventDispatch extends Context.Tag("svc/EventDispatch")<
  EventDispatch,
  {
    /** Reads leased events and dispatches them in the background; a lease without a free slot is given up. */
    readonly dispatchLeased: (leases: ReadonlyArray<LeasedEvent>) => Effect.Effect<void>
  }
>() {}
