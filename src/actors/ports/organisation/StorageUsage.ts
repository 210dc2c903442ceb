/**
 * How much accounts store: executions, events, blobs, state, and what workflows store with `svc.db`. Counted every
 * hour where a plan limits it.
 */
import { Context, type Effect } from "effect"
import type { Unavailable } from "../../../domain/Failure.js"
import type { OrganisationId } from "../../../domain/Ids.js"

export class StorageUsage extends Context.Tag("svc/StorageUsage")<
  StorageUsage,
  {
    /** Megabytes by the last count; 0 before the first. */
    readonly megabytes: (account: OrganisationId) => Effect.Effect<number, Unavailable>
  }
>() {}
