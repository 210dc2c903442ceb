/**
 * Admission on this node: calls are taken from leases of the tenant actor, so that most need no message. A lease that
 * is not used up soon goes back, and whatever demand there is elsewhere gets it.
 */
import { Clock, Duration, Effect, Layer } from "effect"
import { QuotaExceeded, RateLimited, Unavailable } from "../../domain/Failure.js"
import type { OrganisationId } from "../../domain/Ids.js"
import { backgroundTask } from "../BackgroundTask.js"
import { type Admission, RateLimits } from "../ports/RateLimits.js"
import { pollWhileBusy } from "../PollWhileBusy.js"
import { Tenant } from "./Protocol.js"

/** A calendar unit in which is counted. `most`: units that a lease may have; a crash loses those of a lease. */
interface Window {
  readonly millis: number
  readonly most: number
}
const minuteWindow: Window = { millis: 60_000, most: 1_000_000 }
const dayWindow: Window = { millis: 86_400_000, most: 20 }

/** What is counted, and how much of it the window may have. */
interface Bucket {
  readonly name: string
  readonly limit: number
}

/** How long a lease is held without being used up. */
const leaseMillis = 200

const leaseKey = ({ bucket, organisationId }: Pick<Held, "organisationId" | "bucket">) => `${organisationId}|${bucket}`

interface Held {
  readonly organisationId: OrganisationId
  readonly bucket: string
  readonly limit: number
  readonly window: Window
  /** When the window began, in Unix milliseconds. */
  readonly minute: number
  /** Requests that are taking a token. */
  users: number
  tokens: number
  left: number
  until: number
  /** One question to the tenant at a time; the others wait for its answer. */
  readonly gate: Effect.Semaphore
}

export const layer = Layer.scoped(
  RateLimits,
  Effect.gen(function* () {
    const tenant = yield* Tenant.client
    const leases = new Map<string, Held>()

    /** Unused tokens go back while their window lasts; windows that are over are forgotten. */
    const giveBack = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      for (const [name, held] of leases) {
        if (held.minute + held.window.millis <= now) leases.delete(name)
        else if (held.users === 0 && held.tokens === 0 && held.until <= now) leases.delete(name)
        else if (held.tokens > 0 && held.until <= now) {
          const calls = held.tokens
          held.tokens = 0
          yield* tenant(held.organisationId)
            .GiveBack({ bucket: held.bucket, minute: held.minute, limit: held.limit, calls })
            .pipe(Effect.timeout("2 seconds"), Effect.sandbox, Effect.ignore)
        }
      }
    })
    const task = yield* backgroundTask("rate_limits.give_back", giveBack)
    const lookAfter = yield* pollWhileBusy(
      Duration.millis(leaseMillis),
      task.run.pipe(
        Effect.zipRight(Effect.suspend(() => task.reportWaiting(leases.size > 0))),
        Effect.map(() => leases.size > 0)
      )
    )

    const heldOf = (
      organisationId: OrganisationId,
      { limit, name: bucket }: Bucket,
      window: Window,
      minute: number
    ): Held => {
      const key = leaseKey({ organisationId, bucket })
      const known = leases.get(key)
      if (known !== undefined && known.minute === minute && known.limit === limit) return known
      const held: Held = {
        organisationId,
        bucket,
        limit,
        window,
        minute,
        users: 0,
        tokens: 0,
        left: limit,
        until: 0,
        gate: Effect.unsafeMakeSemaphore(1)
      }
      leases.set(key, held)
      lookAfter()
      return held
    }

    const renew = (held: Held, now: number) =>
      tenant(held.organisationId)
        .LeaseCalls({ bucket: held.bucket, minute: held.minute, limit: held.limit, most: held.window.most })
        .pipe(
          Effect.timeout("2 seconds"),
          // A runner that dies answers with a defect.
          Effect.sandbox,
          Effect.mapError(() => new Unavailable({ reason: "the call cannot be counted now", retryAfterSeconds: 1 })),
          Effect.map((lease) => {
            held.tokens += lease.got
            held.left = lease.left
            held.until = now + leaseMillis
          })
        )

    const take = (held: Held, now: number): Effect.Effect<boolean, Unavailable> =>
      Effect.suspend(() => {
        if (held.tokens > 0) {
          held.tokens--
          return Effect.succeed(true)
        }
        return held.gate.withPermits(1)(
          Effect.suspend(() => {
            const spent = () => held.tokens-- > 0
            if (held.tokens > 0) return Effect.sync(spent)
            return Effect.map(renew(held, now), () => {
              if (held.tokens > 0) return spent()
              held.tokens = 0
              return false
            })
          })
        )
      })

    interface Taken {
      readonly held: ReadonlyArray<Held>
      /** The first bucket that has nothing left. */
      readonly full: Held | undefined
      /** Unix seconds. */
      readonly resetAt: number
    }

    /** What was taken and not used counts as never taken; the lease may have gone back meanwhile. */
    const restore = (taken: ReadonlyArray<Held>) => {
      for (const held of taken) {
        const key = leaseKey(held)
        const current = leases.get(key) ?? held
        if (current.minute !== held.minute) continue
        current.tokens++
        leases.set(key, current)
        lookAfter()
      }
    }

    const takeOf = (held: Held, now: number) =>
      Effect.acquireUseRelease(
        Effect.sync(() => {
          held.users++
        }),
        () => take(held, now),
        () =>
          Effect.sync(() => {
            held.users--
          })
      )

    /** Takes one of each bucket, or of none. */
    const takeAll = Effect.fnUntraced(function* (
      organisationId: OrganisationId,
      buckets: ReadonlyArray<Bucket>,
      window: Window
    ): Effect.fn.Return<Taken, Unavailable> {
      const now = yield* Clock.currentTimeMillis
      const begin = now - (now % window.millis)
      const resetAt = (begin + window.millis) / 1000
      const taken: Array<Held> = []
      for (const bucket of buckets) {
        const held = heldOf(organisationId, bucket, window, begin)
        if (!(yield* Effect.tapError(takeOf(held, now), () => Effect.sync(() => restore(taken))))) {
          restore(taken)
          return { held: [], full: held, resetAt }
        }
        taken.push(held)
      }
      return { held: taken, full: undefined, resetAt }
    })

    const bucketOf = (name: string, limit: number | null): ReadonlyArray<Bucket> =>
      limit === null ? [] : [{ name, limit }]

    const tightest = ({ held, resetAt }: Taken): Admission | null =>
      held.reduce<Admission | null>((least, { left, limit, tokens }) => {
        const remaining = left + tokens
        return least === null || remaining < least.remaining ? { limit, remaining, resetAt } : least
      }, null)

    return RateLimits.of({
      admit: ({ key, keyId, organisationId, plan }) =>
        key === null && plan === null
          ? Effect.succeed(null)
          : Effect.flatMap(
              takeAll(organisationId, [...bucketOf(keyId, key), ...bucketOf("plan", plan)], minuteWindow),
              (taken) =>
                taken.full === undefined
                  ? Effect.succeed(tightest(taken))
                  : new RateLimited({ limit: taken.full.limit, resetAt: taken.resetAt })
            ),

      admitFor: (organisationId, customerId, limit) =>
        Effect.flatMap(
          takeAll(organisationId, [{ name: `calls|${customerId}`, limit }], minuteWindow),
          ({ full, resetAt }) =>
            full === undefined ? Effect.void : new RateLimited({ limit, resetAt, what: "calls for this customer" })
        ),

      takeStart: ({ customer, customerId, organisation, organisationId }) =>
        Effect.flatMap(
          takeAll(
            organisationId,
            [...bucketOf("starts", organisation), ...bucketOf(`starts|${customerId}`, customer)],
            dayWindow
          ),
          ({ full, held, resetAt }) =>
            full === undefined
              ? Effect.succeed({ giveBack: Effect.sync(() => restore(held)) })
              : new QuotaExceeded({ dimension: "events_per_day", limit: full.limit, used: full.limit, resetAt })
        )
    })
  })
)
