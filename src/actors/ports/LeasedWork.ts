/**
 * Stored work of which one node does each piece at a time, by a lease that ends by itself. Each kind of work is described
 * once, in the driver; `src/actors/LeasedWork.ts` repeats it.
 */
import type { Effect } from "effect"
import type { Unavailable } from "../../domain/Failure.js"
import type { OrganisationId } from "../../domain/Ids.js"
import type { Room } from "../Places.js"
import type { StoredJob } from "./FailedJobs.js"

/** Work that is due and waits for a partner outside: a provider, an endpoint. */
export interface DueWork extends StoredJob {
  readonly organisationId: OrganisationId
  readonly accountId: OrganisationId
  readonly partner: string
}

/** The operations that kinds of work have in common. What settles a job is the kind's own. */
export interface LeasedWork<J extends StoredJob> {
  /** Leases those that are still due; leaves out what another node has. */
  readonly lease: (found: ReadonlyArray<Pick<StoredJob, "id">>) => Effect.Effect<ReadonlyArray<J>, Unavailable>
  /** Leases up to `limit` that are due, the longest due first. */
  readonly leaseDue: (limit: number) => Effect.Effect<ReadonlyArray<J>, Unavailable>
  /** Extends the lease by its whole time. */
  readonly renew: (job: StoredJob) => Effect.Effect<void, Unavailable>
}

/** Finds due work of those who would get a place, accounts and their organisations in turn, the longest due first. */
export type FindWork = (room: Room) => Effect.Effect<ReadonlyArray<DueWork>, Unavailable>
