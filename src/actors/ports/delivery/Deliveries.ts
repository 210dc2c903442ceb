/** Pending deliveries: they commit with the change that causes them, and a sweep claims and settles them. */
import { Context, type Duration, type Effect } from "effect"
import type { Delivery, Verdict } from "../../../domain/delivery/Delivery.js"
import type { Unavailable } from "../../../domain/Failure.js"
import type { FindWork } from "../LeasedWork.js"
import type { Room } from "../../Places.js"

/** Deliveries to endpoints, and notifications: neither takes the places of the other. */
export type DeliveryUse = "deliveries" | "notifications"

export class Deliveries extends Context.Tag("svc/Deliveries")<
  Deliveries,
  {
    /**
     * Finds due deliveries. Those to a disabled or deleted endpoint become `undelivered`. The partner is the endpoint, or the
     * address of an e-mail.
     * Notifications and other deliveries have places of their own.
     */
    readonly find: (use: DeliveryUse, room: Room) => ReturnType<FindWork>
    /**
     * Claims those that are still due, as long as an endpoint and an organisation have places, which all nodes share. Each is
     * leased to the caller until its lease expires.
     */
    readonly claim: (ids: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<Delivery>, Unavailable>
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
