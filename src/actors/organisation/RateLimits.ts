/**
 * Admits calls and starts on this node from leases of the organisation's actor, so that most need no message. Unused calls
 * of a lease are returned when it expires, so that other nodes can lease them.
 */
import { Duration, Effect, Layer } from "effect"
import { QuotaExceeded, RateLimited } from "../../domain/Failure.js"
import { backgroundTask } from "../BackgroundTask.js"
import { type Admission, RateLimits } from "../ports/organisation/RateLimits.js"
import { UsageMeter } from "../ports/organisation/UsageMeter.js"
import { pollWhileBusy } from "../PollWhileBusy.js"
import { OrganisationLimits } from "./Protocol.js"
import {
  type Window,
  type Bucket,
  type TakenTokens,
  type WindowLease,
  returnUnused,
  windowLeaseMillis,
  type LimitsContext,
  takeAll,
  restoreTokens
} from "./WindowLeases.js"

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
    const limitsOwner = yield* OrganisationLimits.client
    const leases = new Map<string, WindowLease>()
    const task = yield* backgroundTask("rate_limits.give_back", returnUnused({ leases, limitsOwner }))
    const startReturning = yield* pollWhileBusy(
      Duration.millis(windowLeaseMillis),
      task.run.pipe(
        Effect.zipRight(Effect.suspend(() => task.reportWaiting(leases.size > 0))),
        Effect.map(() => leases.size > 0)
      )
    )

    const context: LimitsContext = { limitsOwner, leases, startReturning }

    return RateLimits.of({
      admit: ({ caller, callerId, organisationId, plan }) => {
        meter.countCall(organisationId)
        return caller === null && plan === null
          ? Effect.succeed(null)
          : Effect.flatMap(
              takeAll(
                context,
                organisationId,
                [...bucketOf(callerId, caller), ...bucketOf("plan", plan)],
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
          takeAll(context, organisationId, [{ name: `calls|${customerId}`, limit }], minuteWindow),
          ({ exhausted, resetAt }) =>
            exhausted === undefined ? Effect.void : new RateLimited({ limit, resetAt, what: "calls for this customer" })
        ),

      takeStart: ({ customer, customerId, organisation, organisationId }) =>
        Effect.flatMap(
          takeAll(
            context,
            organisationId,
            [...bucketOf("starts", organisation), ...bucketOf(`starts|${customerId}`, customer)],
            dayWindow
          ),
          ({ exhausted, leases, resetAt }) =>
            exhausted === undefined
              ? Effect.succeed({ giveBack: Effect.sync(() => restoreTokens(context, leases)) })
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
