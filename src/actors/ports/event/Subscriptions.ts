/** Stores the subscriptions of triggers at providers. One node handles a subscription at a time, by a lease. */
import { Context, type Effect, type Option } from "effect"
import type { AuditEntry } from "../../../domain/audit/Audit.js"
import type { Unavailable } from "../../../domain/Failure.js"
import type { ConnectionId, OrganisationId, TriggerId } from "../../../domain/Ids.js"
import type { DomainEvent } from "../connection/ConnectionStore.js"
import type { SubscriptionStatus } from "../../../domain/trigger/Subscription.js"
import type { Trigger } from "../../../domain/trigger/Trigger.js"
import type { StoredJob } from "../FailedJobs.js"
import type { FindWork, LeasedWork } from "../LeasedWork.js"

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
export interface DueSubscription extends Subscription, StoredJob {
  readonly organisationId: OrganisationId
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
  /** Domain events that commit with the change. */
  readonly events?: ReadonlyArray<DomainEvent>
  /** The node goes on with the subscription and keeps its lease. */
  readonly keepsLease?: boolean
}

/** A trigger that the service disables: the record after it, its event and its audit entry, which commit together. */
export interface TriggerDisabling {
  readonly after: Trigger
  readonly event: DomainEvent
  readonly audit: AuditEntry
}

export class Subscriptions extends Context.Tag("svc/Subscriptions")<
  Subscriptions,
  Pick<LeasedWork<DueSubscription>, "lease"> & {
    /** Creates the subscriptions of new triggers and connections. */
    readonly reconcile: Effect.Effect<void, Unavailable>
    /** The partner of a subscription is its connection. */
    readonly find: FindWork
    readonly save: (job: StoredJob, change: SubscriptionChange) => Effect.Effect<void, Unavailable>
    /**
     * Stores that the provider refuses the subscription for good, with its event; and disables the trigger if none of its
     * other subscriptions may still succeed. A trigger that was changed meanwhile is asked for again in a minute.
     */
    readonly refuse: (
      subscription: DueSubscription,
      refusal: { readonly lastError: string; readonly event: DomainEvent; readonly disabling: TriggerDisabling }
    ) => Effect.Effect<void, Unavailable>
    /** By its number; only one that the provider may deliver to. At most one second old. */
    readonly byNumber: (number: string) => Effect.Effect<Option.Option<Subscription>, Unavailable>
  }
>() {}
