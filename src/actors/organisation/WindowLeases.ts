/**
 * This node's leases of calls and starts in a calendar window, from the organisation's actor. One request for a lease is
 * in flight at a time; unused calls are returned when the lease expires.
 */
import { Clock, Duration, Effect } from "effect"
import { Unavailable } from "../../domain/Failure.js"
import type { OrganisationId } from "../../domain/Ids.js"
import { backgroundTask } from "../BackgroundTask.js"
import { pollWhileBusy } from "../PollWhileBusy.js"
import { OrganisationLimits } from "./Protocol.js"

/** A calendar window. `maxLease`: the largest lease, which is what a crash of the node can lose. */
export interface Window {
  readonly millis: number
  readonly maxLease: number
}

/** A counter and its limit in a window. */
export interface Bucket {
  readonly name: string
  readonly limit: number
}

/** Time after which unused calls of a lease are returned. */
const windowLeaseMillis = 200

/** With the limit: what is left of a lease by an earlier limit is returned like any other. */
const leaseKey = ({ bucket, limit, organisationId }: Pick<WindowLease, "organisationId" | "bucket" | "limit">) =>
  `${organisationId}|${limit}|${bucket}`

export interface WindowLease {
  readonly organisationId: OrganisationId
  readonly bucket: string
  readonly limit: number
  readonly window: Window
  /** When the window began, in Unix milliseconds. */
  readonly windowStart: number
  /** Requests that are taking a token now. */
  takers: number
  tokens: number
  left: number
  expiresAt: number
  /** Until then the bucket counts as empty, in Unix milliseconds, without asking the organisation's actor again. */
  emptyUntil: number
  /** Serialises messages to the organisation's actor; the other takers wait for the answer. */
  readonly renewLock: Effect.Semaphore
}

/** The tokens that a call has taken. */
export interface TakenTokens {
  readonly leases: ReadonlyArray<WindowLease>
  /** The first lease whose bucket has reached its limit. */
  readonly exhausted: WindowLease | undefined
  /** Unix seconds. */
  readonly resetAt: number
}

/** The leases of this node. Unused tokens are returned until no lease is left. */
export const makeWindowLeases = Effect.gen(function* () {
  const limitsOwner = yield* OrganisationLimits.client
  const leases = new Map<string, WindowLease>()

  /** Returns the unused tokens of an expired lease. Nothing is leased meanwhile, or it would be refused while these are free. */
  const giveBack = (lease: WindowLease, now: number) =>
    lease.renewLock.withPermits(1)(
      Effect.suspend(() => {
        const calls = lease.tokens
        if (calls === 0 || lease.expiresAt > now) return Effect.void
        lease.tokens = 0
        return limitsOwner(lease.organisationId)
          .GiveBack({ bucket: lease.bucket, minute: lease.windowStart, limit: lease.limit, calls })
          .pipe(Effect.timeout("2 seconds"), Effect.sandbox, Effect.ignore)
      })
    )

  /** Returns unused tokens of expired leases, and drops the leases of windows that have ended. */
  const returnUnused = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    for (const [name, lease] of leases) {
      if (lease.windowStart + lease.window.millis <= now) leases.delete(name)
      else if (lease.takers === 0 && lease.tokens === 0 && lease.expiresAt <= now) leases.delete(name)
      else if (lease.tokens > 0 && lease.expiresAt <= now) yield* giveBack(lease, now)
    }
  })

  const task = yield* backgroundTask("rate_limits.give_back", returnUnused)
  const startReturning = yield* pollWhileBusy(
    Duration.millis(windowLeaseMillis),
    task.run.pipe(
      Effect.zipRight(Effect.suspend(() => task.reportWaiting(leases.size > 0))),
      Effect.map(() => leases.size > 0)
    )
  )

  /** The lease of a bucket in this window. */
  const leaseOf = (organisationId: OrganisationId, { limit, name: bucket }: Bucket, window: Window, minute: number) => {
    const key = leaseKey({ organisationId, bucket, limit })
    const current = leases.get(key)
    if (current !== undefined && current.windowStart === minute) return current
    const lease: WindowLease = {
      organisationId,
      bucket,
      limit,
      window,
      windowStart: minute,
      takers: 0,
      tokens: 0,
      left: limit,
      expiresAt: 0,
      emptyUntil: 0,
      renewLock: Effect.unsafeMakeSemaphore(1)
    }
    leases.set(key, lease)
    startReturning()
    return lease
  }

  /** Leases more calls from the organisation's actor. */
  const renew = (lease: WindowLease, now: number) =>
    limitsOwner(lease.organisationId)
      .LeaseCalls({
        bucket: lease.bucket,
        minute: lease.windowStart,
        limit: lease.limit,
        most: lease.window.maxLease
      })
      .pipe(
        Effect.timeout("2 seconds"),
        // An actor on a dying node answers with a defect.
        Effect.sandbox,
        Effect.mapError(() => new Unavailable({ reason: "the call cannot be counted now", retryAfterSeconds: 1 })),
        Effect.map(({ granted, left }) => {
          lease.tokens += granted
          lease.left = left
          lease.expiresAt = now + windowLeaseMillis
          lease.emptyUntil = granted === 0 ? now + windowLeaseMillis : 0
        })
      )

  /** Takes a token; false if the bucket has reached its limit. */
  const take = (lease: WindowLease, now: number): Effect.Effect<boolean, Unavailable> =>
    Effect.suspend(() => {
      if (lease.tokens > 0) {
        lease.tokens--
        return Effect.succeed(true)
      }
      return lease.renewLock.withPermits(1)(
        Effect.suspend(() => {
          const spent = () => lease.tokens-- > 0
          if (lease.tokens > 0) return Effect.sync(spent)
          if (lease.emptyUntil > now) return Effect.succeed(false)
          return Effect.map(renew(lease, now), () => {
            if (lease.tokens > 0) return spent()
            lease.tokens = 0
            return false
          })
        })
      )
    })

  /** Puts tokens back that were not used, even if their lease was dropped meanwhile. */
  const restoreTokens = (taken: ReadonlyArray<WindowLease>) => {
    for (const lease of taken) {
      const key = leaseKey(lease)
      const current = leases.get(key) ?? lease
      if (current.windowStart !== lease.windowStart) continue
      current.tokens++
      leases.set(key, current)
      startReturning()
    }
  }

  /** As `take`, and keeps the lease meanwhile. */
  const takeToken = (lease: WindowLease, now: number) =>
    Effect.acquireUseRelease(
      Effect.sync(() => {
        lease.takers++
      }),
      () => take(lease, now),
      () =>
        Effect.sync(() => {
          lease.takers--
        })
    )

  /** Takes one token of each bucket, or of none if one has reached its limit. */
  const takeAll = Effect.fnUntraced(function* (
    organisationId: OrganisationId,
    buckets: ReadonlyArray<Bucket>,
    window: Window
  ): Effect.fn.Return<TakenTokens, Unavailable> {
    const now = yield* Clock.currentTimeMillis
    const begin = now - (now % window.millis)
    const resetAt = (begin + window.millis) / 1000
    const taken: Array<WindowLease> = []
    for (const bucket of buckets) {
      const lease = leaseOf(organisationId, bucket, window, begin)
      if (!(yield* Effect.tapError(takeToken(lease, now), () => Effect.sync(() => restoreTokens(taken))))) {
        restoreTokens(taken)
        return { leases: [], exhausted: lease, resetAt }
      }
      taken.push(lease)
    }
    return { leases: taken, exhausted: undefined, resetAt }
  })

  return { restoreTokens, takeAll }
})
