/**
 * The way of events from the start queue to the node that dispatches them: directly, or over a broker. The queue's row
 * stays the only marker of unfinished work, so that a broker may lose, delay or repeat any message.
 */
import { Context, type Effect } from "effect"
import type { LeasedEvent, StartQueue } from "../run/StartQueue.js"

export interface StreamStatus {
  readonly driver: "postgres" | "jetstream"
  /** Whether events take the driver's own way. If not, nodes take them from the queue. */
  readonly ok: boolean
  /** Why not; empty otherwise. */
  readonly detail: string
  /** Events that the broker carries for this node now. */
  readonly carried: number
}

export class EventStream extends Context.Tag("svc/EventStream")<
  EventStream,
  {
    /**
     * Takes up to `slots` rows of these shards in fair order: runs that were started, and events leased to this node,
     * whose leases are kept until they are settled. `Wakeups` signals when a later call finds more.
     */
    readonly take: StartQueue["Type"]["take"]
    /** The event was settled or given back: its lease is no longer kept, and the broker forgets it. */
    readonly finish: (event: Pick<LeasedEvent, "id" | "claims">) => void
    readonly status: Effect.Effect<StreamStatus>
  }
>() {}
