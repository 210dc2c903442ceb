/**
 * Permits of limits that a provider counts over all connections of a connector. This node leases calls from the limit's
 * owner in batches, so that most calls need no message, and reports each lease when it ends.
 */
import { Clock, Context, Duration, Effect, Layer } from "effect"
import { Unavailable } from "../../domain/Failure.js"
import { nextBlockedUntil, type CallLimits, type ProviderQuota } from "../../domain/connection/RateLimiter.js"
import { leaseMillis } from "../../domain/connection/SharedLimiter.js"
import { backgroundTask, repeatEvery } from "../BackgroundTask.js"
import { Identifiers } from "../ports/Identifiers.js"
import { ProviderLimit } from "../provider/Protocol.js"
import type { CommandRefusal } from "./Protocol.js"
import { connectedCall } from "../../domain/Limits.js"

/** The permits of one connector in one organisation, on this node. Times are Unix milliseconds. */
export interface SharedPermits {
  /** A permit, or the time of the next free one; `undefined`: nothing is leased, call `fetch` first. */
  readonly take: (now: number) => { readonly lease: string } | { readonly at: number } | undefined
  /** Leases calls. Other callers may take them first, so `take` may still return `undefined` afterwards. */
  readonly fetch: (timeoutMillis: number) => Effect.Effect<void, CommandRefusal>
  /** Ends a call under this lease. */
  readonly settle: (lease: string, reading: ProviderQuota | null, now: number) => Effect.Effect<void>
}

export class Permits extends Context.Tag("svc/connection/Permits")<
  Permits,
  { readonly of: (organisation: string, connector: string, limits: CallLimits) => SharedPermits }
>() {}

interface Lease {
  readonly id: string
  readonly at: number
  left: number
  used: number
  lastAt: number
}

interface Pool {
  readonly gate: Effect.Semaphore
  readonly leases: Map<string, Lease>
  limits: CallLimits
  current: Lease | undefined
  blockedUntil: number
  waiting: number
}

/** Calls that a lease asks for at least; unused ones go back when it ends. */
const minLease = 16
const ownerTimeout = Duration.seconds(2)
/** Long enough to count a call that was granted at the very end of the lease. */
const closeDelay = Duration.millis(leaseMillis + 5)
/**
 * A slot among the calls in flight expires after this time and is extended while its call lasts: slots of a node that died
 * are free soon, and a long call keeps its slot.
 */
const slotMillis = 60_000
const keepInterval = Duration.seconds(15)
const limitUnavailable = () =>
  new Unavailable({ reason: "the provider's limit cannot be looked up now", retryAfterSeconds: 1 })
const maxPools = 10_000

/** Age after which a permit is treated as lost: its call must have ended a minute before. */
const lostAfterMillis = connectedCall.longestMillis + 60_000

/** Takes a call of the current lease. */
const take = (pool: Pool, now: number) => {
  if (pool.blockedUntil > now) return { at: pool.blockedUntil }
  const { current } = pool
  if (current === undefined || current.left < 1 || now >= current.at) return undefined
  current.left -= 1
  current.used += 1
  current.lastAt = now
  return { lease: current.id }
}

export const layer = Layer.scoped(
  Permits,
  Effect.gen(function* () {
    const owner = yield* ProviderLimit.client
    const identifiers = yield* Identifiers
    const scope = yield* Effect.scope
    const pools = new Map<string, Pool>()

    const poolOf = (key: string, limits: CallLimits): Pool => {
      const existing = pools.get(key)
      if (existing !== undefined) {
        existing.limits = limits
        return existing
      }
      if (pools.size >= maxPools)
        for (const [name, { leases, waiting }] of pools) if (leases.size === 0 && waiting === 0) pools.delete(name)
      const gate = Effect.unsafeMakeSemaphore(1)
      const pool: Pool = { gate, leases: new Map(), limits, current: undefined, blockedUntil: 0, waiting: 0 }
      pools.set(key, pool)
      return pool
    }

    /** Reports how a lease was used. A report that is lost counts as fully used. */
    const report = (key: string, { leases, limits }: Pool, lease: Lease | undefined, reading: ProviderQuota | null) => {
      if (lease !== undefined) leases.delete(lease.id)
      const reports = lease === undefined ? [] : [{ id: lease.id, used: lease.used, lastAt: lease.lastAt }]
      return owner(key)
        .Report({ limits, leases: reports, reading })
        .pipe(
          Effect.mapInputContext<never, never>(() => Context.empty()),
          Effect.timeout(ownerTimeout),
          Effect.sandbox,
          Effect.retry({ times: 2 }),
          Effect.ignoreLogged,
          Effect.forkIn(scope),
          Effect.asVoid
        )
    }

    /** Ends a lease; one with calls in flight under a concurrency limit is reported when these end. */
    const close = (key: string, pool: Pool, lease: Lease) =>
      Effect.suspend(() => {
        if (pool.current === lease) pool.current = undefined
        return pool.limits.concurrency !== null && lease.used > 0 ? Effect.void : report(key, pool, lease, null)
      })

    const fetchLease = Effect.fnUntraced(function* (key: string, pool: Pool, timeoutMillis: number) {
      const id = identifiers.token(16)
      const { limits, waiting } = pool
      const wanted = Math.max(minLease, waiting)
      const answer = yield* owner(key)
        .LeaseCalls({ limits, id, wanted, timeoutMillis: Math.min(timeoutMillis, slotMillis) })
        .pipe(
          Effect.mapInputContext<never, never>(() => Context.empty()),
          Effect.timeout(ownerTimeout),
          // An owner on a dying node does not answer, or answers with a defect.
          Effect.sandbox,
          Effect.mapError(limitUnavailable)
        )
      if (answer._tag === "WaitUntil") {
        pool.blockedUntil = Math.max(pool.blockedUntil, answer.at)
        return
      }
      const lease: Lease = { id, at: answer.at, left: answer.count, used: 0, lastAt: 0 }
      pool.leases.set(id, lease)
      pool.current = lease
      yield* Effect.forkIn(Effect.delay(close(key, pool, lease), closeDelay), scope)
    })

    /** Extends the slots of long calls, often enough that one lost message loses no slot. */
    const extendSlots = Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.forEach(
        pools,
        ([key, { leases, limits }]) => {
          if (limits.concurrency === null) return Effect.void
          const isLongCall = ({ lastAt, used }: Lease) =>
            used > 0 && now - lastAt >= Duration.toMillis(keepInterval) && now - lastAt < lostAfterMillis
          const ids = [...leases.values()].filter(isLongCall).map(({ id }) => id)
          if (ids.length === 0) return Effect.void
          return owner(key)
            .Keep({ ids, forMillis: slotMillis })
            .pipe(
              Effect.mapInputContext<never, never>(() => Context.empty()),
              Effect.timeout(ownerTimeout),
              Effect.sandbox,
              Effect.ignore
            )
        },
        { concurrency: 16, discard: true }
      )
    )

    /** Leases calls, one request at a time, if none is left and the limit is not known to be reached. */
    const fetch = (key: string, pool: Pool, timeoutMillis: number): Effect.Effect<void, CommandRefusal> =>
      Effect.suspend(() => {
        pool.waiting += 1
        return pool.gate.withPermits(1)(
          Effect.flatMap(Clock.currentTimeMillis, (now) => {
            const { blockedUntil, current } = pool
            const hasAnswer = blockedUntil > now || (current !== undefined && current.left > 0 && now < current.at)
            return hasAnswer ? Effect.void : fetchLease(key, pool, timeoutMillis)
          })
        )
      }).pipe(
        Effect.ensuring(
          Effect.sync(() => {
            pool.waiting -= 1
          })
        )
      )

    /** Reports what the answer says of the limit, and the end of a call that holds a slot. */
    const settle = (key: string, pool: Pool, lease: string, reading: ProviderQuota | null, now: number) => {
      const blocks = reading !== null && nextBlockedUntil(0, reading, now) > now
      if (blocks) pool.blockedUntil = nextBlockedUntil(pool.blockedUntil, reading, now)
      const held = pool.limits.concurrency === null ? undefined : pool.leases.get(lease)
      return held === undefined && !blocks ? Effect.void : report(key, pool, held, blocks ? reading : null)
    }

    const keeping = yield* backgroundTask("provider_limits.keep_places", extendSlots)
    yield* repeatEvery(keepInterval, keeping.run, "later")

    return Permits.of({
      of: (organisation, connector, limits) => {
        const key = `${organisation}|${connector}`
        const pool = poolOf(key, limits)
        return {
          take: (now) => take(pool, now),
          fetch: (timeoutMillis) => fetch(key, pool, timeoutMillis),
          settle: (lease, reading, now) => settle(key, pool, lease, reading, now)
        }
      }
    })
  })
)
