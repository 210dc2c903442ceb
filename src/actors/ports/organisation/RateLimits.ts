/**
 * How many calls a caller, its account and a customer may make in a calendar minute, and how many runs an account and a
 * customer may start in a day (both UTC): exactly that many.
 */
import { type Effect, Context } from "effect"
import type { QuotaExceeded, RateLimited, Unavailable } from "../../../domain/Failure.js"
import type { CustomerId, OrganisationId } from "../../../domain/Ids.js"

/** The tighter of the caller's and the plan's limit. `resetAt`: Unix seconds. */
export interface Admission {
  readonly limit: number
  readonly remaining: number
  readonly resetAt: number
}

export interface Ceilings {
  readonly organisationId: OrganisationId
  /** The organisation whose calls the plan counts. */
  readonly accountId: OrganisationId
  readonly callerId: string
  /** Calls per minute; `null` for no ceiling. */
  readonly caller: number | null
  readonly plan: number | null
  /** Of all embed sessions of the account together. */
  readonly sessions: number | null
}

/** Starts per day; `null` for no ceiling. */
export interface StartCeilings {
  /** The organisation whose starts the plan counts. */
  readonly accountId: OrganisationId
  readonly account: number | null
  readonly customerId: CustomerId | null
  readonly customer: number | null
}

export class RateLimits extends Context.Tag("svc/RateLimits")<
  RateLimits,
  {
    /** Counts one call; `null` when no limit applies. */
    readonly admit: (ceilings: Ceilings) => Effect.Effect<Admission | null, RateLimited | Unavailable>
    /** Counts one call for the customer, which may make `limit` calls a minute. */
    readonly admitFor: (
      organisationId: OrganisationId,
      customerId: CustomerId,
      limit: number
    ) => Effect.Effect<void, RateLimited | Unavailable>
    /** Counts one start; `giveBack` undoes that. */
    readonly takeStart: (
      ceilings: StartCeilings
    ) => Effect.Effect<{ readonly giveBack: Effect.Effect<void> }, QuotaExceeded | Unavailable>
  }
>() {}

/** Counts the calls that each window has granted, in Postgres. */
export class RateWindows extends Context.Tag("svc/RateWindows")<
  RateWindows,
  {
    /**
     * Takes up to `wanted` calls of a bucket's window; the sum of all granted calls never exceeds `limit`. `minute`: the
     * window's start in Unix milliseconds. A negative `wanted` returns calls.
     */
    readonly take: (
      organisation: OrganisationId,
      bucket: string,
      minute: number,
      wanted: number,
      limit: number
    ) => Effect.Effect<{ readonly granted: number; readonly left: number }, Unavailable>
  }
>() {}
