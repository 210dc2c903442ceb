/** Stores the subscriptions of triggers at providers. One node handles a subscription at a time, by a lease. */
import { Context, type Effect, type Option } from "effect"
import type { Unavailable } from "../../domain/Failure.js"
import type { ConnectionId, OrganisationId, TriggerId } from "../../domain/Ids.js"
import type { SubscriptionStatus } from "../../domain/Subscription.js"

/** A subscription. Times are Unix milliseconds. */
export interface Subscription extends Pick<SubscriptionStatus, "state" | "attempts"> {
  readonly organisationId: OrganisationId
  readonly triggerId: TriggerId
  readonly connectionId: ConnectionId
  /** Part of the address that the provider has; `null` before the first attempt. */
  readonly number: string | null
  /** The provider's id. */
  readonly externalId: string | null
  /** The secret that signs deliveries, sealed. */
  readonly secret: Uint8Array | null
  readonly expiresAt: number | null
}

/** A subscription whose state is not what its trigger and connection ask for. */
export interface DueSubscription extends Subscription {
  /** The trigger is active. */
  readonly isWanted: boolean
  /** The connection is active. */
  readonly isOpen: boolean
}

/** A new state with the members that change; absent ones stay. `nextAt`: `null` if nothing is due. */
export interface SubscriptionChange extends Partial<
  Pick<Subscription, "attempts" | "number" | "externalId" | "secret" | "expiresAt">
> {
  readonly state: Subscription["state"]
  readonly nextAt: number | null
  readonly lastError?: string | null
  /** The node goes on with the subscription and keeps its lease. */
  readonly keepsLease?: boolean
}

export class Subscriptions extends Context.Tag("svc/Subscriptions")<
  Subscriptions,
  {
    /** Creates the subscriptions of new triggers and connections. */
    readonly reconcile: Effect.Effect<void, Unavailable>
    readonly lease: (limit: number) => Effect.Effect<ReadonlyArray<DueSubscription>, Unavailable>
    readonly save: (
      subscription: Pick<Subscription, "triggerId" | "connectionId">,
      change: SubscriptionChange
    ) => Effect.Effect<void, Unavailable>
    /** By its number; only one that the provider may deliver to. At most one second old. */
    readonly byNumber: (number: string) => Effect.Effect<Option.Option<Subscription>, Unavailable>
  }
>() {}
