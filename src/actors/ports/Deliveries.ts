/** The deliveries that wait, written by the statements that cause them; a sweep takes and settles them. */
import { Context, type Effect } from "effect"
import type { Delivery, Verdict } from "../../domain/Delivery.js"
import type { Unavailable } from "../../domain/Failure.js"

export class Deliveries extends Context.Tag("svc/Deliveries")<
  Deliveries,
  {
    /**
     * Takes up to `slots` deliveries that are due, the longest due first. They are the caller's until the lease ends;
     * then anyone may take them again. `underWay`: how many the caller has under way to each endpoint; an endpoint
     * that has all it may have is passed over, so that it holds up nobody else.
     */
    readonly claim: (
      slots: number,
      underWay: ReadonlyMap<string, number>
    ) => Effect.Effect<ReadonlyArray<Delivery>, Unavailable>
    /** Records what came of an attempt; without effect when another attempt has begun meanwhile. */
    readonly settle: (delivery: Delivery, verdict: Verdict) => Effect.Effect<void, Unavailable>
  }
>() {}
