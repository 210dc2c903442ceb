/** What organisations have used: counted calls and starts, and totals of days. */
import { Context, type Effect } from "effect"
import type { Unavailable } from "../../../domain/Failure.js"
import type { CustomerId, OrganisationId } from "../../../domain/Ids.js"
import type { UsageDay } from "../../../domain/organisation/Usage.js"

export class UsageReads extends Context.Tag("svc/UsageReads")<
  UsageReads,
  {
    /** How much of a window is granted. `start`: its begin in Unix milliseconds. */
    readonly granted: (
      organisation: OrganisationId,
      bucket: string,
      start: number
    ) => Effect.Effect<number, Unavailable>
    /** The customers with the most counted starts of the day, at most 20. */
    readonly topCustomers: (
      of: { readonly organisationId: OrganisationId; readonly accountId: OrganisationId },
      start: number
    ) => Effect.Effect<ReadonlyArray<{ readonly customerId: CustomerId; readonly used: number }>, Unavailable>
    /** Days with any use, from and to inclusive, as `2026-11-21`. Events and executions are counted every hour. */
    readonly days: (
      organisation: OrganisationId,
      from: string,
      to: string
    ) => Effect.Effect<ReadonlyArray<UsageDay>, Unavailable>
  }
>() {}

/** Counts calls of the API for the totals of days, without a statement for each. */
export class UsageMeter extends Context.Tag("svc/UsageMeter")<
  UsageMeter,
  {
    /** Written within ten seconds; a crash loses at most that. */
    readonly countCall: (organisation: OrganisationId) => void
  }
>() {}
