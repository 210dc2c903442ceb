/** Pending deliveries: they commit with the change that causes them, and a sweep claims and settles them. */
import { Context, type Duration, type Effect } from "effect"
import type { Delivery, Verdict } from "../../domain/Delivery.js"
import type { Unavailable } from "../../domain/Failure.js"
import type { OrganisationId } from "../../domain/Ids.js"

export class Deliveries extends Context.Tag("svc/Deliveries")<
  Deliveries,
  {
    /**
     * Claims up to `slots` due deliveries, the longest due first. Each is leased to the caller until its lease expires.
     * Due deliveries to a disabled or deleted endpoint become `undelivered`.
     * `underWay`, `ofOrganisations`: the caller's deliveries in flight by endpoint and by organisation; those at their
     * limit are skipped.
     */
    readonly claim: (
      slots: number,
      underWay: ReadonlyMap<string, number>,
      ofOrganisations?: ReadonlyMap<OrganisationId, number>
    ) => Effect.Effect<ReadonlyArray<Delivery>, Unavailable>
    /**
     * Records an attempt and the verdict on it; without effect when another attempt has begun since. An endpoint that is
     * gone, or has failed for days, is disabled.
     */
    readonly settle: (
      delivery: Delivery,
      verdict: Verdict,
      duration: Duration.Duration
    ) => Effect.Effect<void, Unavailable>
  }
>() {}
