/**
 * The start queue: runs and events that wait for a free slot of a node. Rows leave it in fair order: the classes P1 to P4
 * share the starts 8:4:2:1, the accounts of a class share them equally, and so do the organisations of an account and
 * the customers of an organisation.
 */
import { Context, Duration, type Effect } from "effect"
import type { PlaceTaker } from "../organisation/PlaceHoldings.js"
import type { EventPriority } from "../../../domain/event/Event.js"
import type { EventId, OrganisationId } from "../../../domain/Ids.js"
import type { JournalUnavailable, OpenRun } from "./Journal.js"

/** How long a lease on an event lasts without renewal. Another node takes the event afterwards. */
export const eventLease = Duration.seconds(10)

/** An event that this node may dispatch until its lease expires. */
export interface LeasedEvent {
  readonly id: EventId
  readonly organisationId: OrganisationId
  /** The organisation whose plan counts its run. */
  readonly accountId: OrganisationId
  readonly priority: EventPriority
  readonly shard: number
  /** How often the event was leased. The statement that settles it must find the queue row with this number. */
  readonly claims: number
  /** The lane of a sequential trigger: its events are dispatched one after the other. */
  readonly lane: string | null
}

/** What waits, for operators. Counts end at 100,000, so that reading them stays cheap. */
export interface QueueBacklog {
  /** Rows that wait for a slot. */
  readonly waiting: number
  /** Events that wait for a quota, a customer or a connection. */
  readonly held: number
  /** Events that a node has leased. */
  readonly leased: number
  /** Dead letters that wait for a replay. */
  readonly dead: number
  /** The age of the oldest waiting row, in seconds. */
  readonly oldestSeconds: number
}

/** What was taken from the queue. Events must be dispatched before their lease ends. */
export interface TakenWork {
  /** Runs that were started. The caller owns them. */
  readonly runs: ReadonlyArray<OpenRun>
  readonly events: ReadonlyArray<LeasedEvent>
  /**
   * Accounts of which at least one has now reached its plan's limit of concurrent runs, so that rows of it were skipped.
   * Empty: none has.
   */
  readonly passedOver: ReadonlyArray<OrganisationId>
  /**
   * The first class of which rows waited before; `null`: none. Rows of organisations that are suspended or at their limits
   * do not count.
   */
  readonly firstWaiting: EventPriority | null
}

export class StartQueue extends Context.Tag("svc/StartQueue")<
  StartQueue,
  {
    /** This process, as the holder of leases. A restarted process has another name. */
    readonly node: string
    /**
     * Takes up to `slots` rows of these shards in fair order: starts runs and leases events. No account exceeds its
     * plan's concurrent runs. `underWay`: runs and events that this node drives already, by account. `taker`: the
     * node's seat in a cluster, which then holds places for all of these; `null` for a lone node.
     */
    readonly take: (
      shards: ReadonlyArray<number>,
      slots: number,
      underWay: ReadonlyMap<OrganisationId, number>,
      taker: PlaceTaker | null
    ) => Effect.Effect<TakenWork, JournalUnavailable>
    /**
     * Leases events to this node that came by another path, such as a broker: those that still have these claims and
     * that no node has given up.
     */
    readonly adopt: (
      events: ReadonlyArray<Pick<LeasedEvent, "id" | "claims">>
    ) => Effect.Effect<ReadonlyArray<LeasedEvent>, JournalUnavailable>
    /** Extends the leases that this node still holds, and returns their events. */
    readonly renew: (ids: ReadonlyArray<EventId>) => Effect.Effect<ReadonlyArray<EventId>, JournalUnavailable>
    /** Gives up leases of this node, so that the events are taken again at once. */
    readonly release: (ids: ReadonlyArray<EventId>) => Effect.Effect<void, JournalUnavailable>
    readonly backlog: Effect.Effect<QueueBacklog, JournalUnavailable>
  }
>() {}
