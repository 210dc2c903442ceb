/**
 * Admits calls and starts on this node from leases of the organisation's actor, so that most need no message. Unused calls
 * of a lease are returned when it expires, so that other nodes can lease them.
 */
import { Effect, Layer } from "effect"
import { QuotaExceeded, RateLimited } from "../../domain/Failure.js"
import { type Admission, RateLimits } from "../ports/organisation/RateLimits.js"
import { UsageMeter } from "../ports/organisation/UsageReads.js"
import { type Window, type Bucket, type TakenTokens, makeWindowLeases } from "./WindowLeases.js"

const minuteWindow: Window = { millis: 60_000, maxLease: 1_000_000 }
const dayWindow: Window = { millis: 86_400_000, maxLease: 20 }

const bucketOf = (name: string, limit: number | null): ReadonlyArray<Bucket> =>
  limit === null ? [] : [{ name, limit }]

/** The admission of the bucket with the fewest calls left. */
const tightestOf = ({ leases, resetAt }: TakenTokens): Admission | null =>
  leases.reduce<Admission | null>((least, { left, limit, tokens }) => {
    const remaining = left + tokens
    return least === null || remaining < least.remaining ? { limit, remaining, resetAt } : least
  }, null)

export const layer = Layer.scoped(
  RateLimits,
  Effect.gen(function* () {
    const meter = yield* UsageMeter
    const { restoreTokens, takeAll } = yield* makeWindowLeases

    return RateLimits.of({
      admit: ({ accountId, caller, callerId, organisationId, plan, sessions }) => {
        meter.countCall(organisationId)
        return caller === null && plan === null && sessions === null
          ? Effect.succeed(null)
          : Effect.flatMap(
              takeAll(
                accountId,
                [...bucketOf(callerId, caller), ...bucketOf("plan", plan), ...bucketOf("sessions", sessions)],
                minuteWindow
              ),
              (taken) =>
                taken.exhausted === undefined
                  ? Effect.succeed(tightestOf(taken))
                  : new RateLimited({ limit: taken.exhausted.limit, resetAt: taken.resetAt })
            )
      },

      admitFor: (organisationId, customerId, limit) =>
        Effect.flatMap(
          takeAll(organisationId, [{ name: `calls|${customerId}`, limit }], minuteWindow),
          ({ exhausted, resetAt }) =>
            exhausted === undefined ? Effect.void : new RateLimited({ limit, resetAt, what: "calls for this customer" })
        ),

      takeStart: ({ account, accountId, customer, customerId }) =>
        Effect.flatMap(
          takeAll(
            accountId,
            [...bucketOf("starts", account), ...bucketOf(`starts|${customerId}`, customer)],
            dayWindow
          ),
          ({ exhausted, leases, resetAt }) =>
            exhausted === undefined
              ? Effect.succeed({ giveBack: Effect.sync(() => restoreTokens(leases)) })
              : new QuotaExceeded({
                  dimension: "events_per_day",
                  limit: exhausted.limit,
                  used: exhausted.limit,
                  resetAt
                })
        )
    })
  })
)
