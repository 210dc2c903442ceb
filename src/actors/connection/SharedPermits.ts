/**
 * Limits that a provider counts over all connections of a connector: this node takes calls from leases of the limit's
 * owner, so that most calls need no message. Each lease is reported when its moment is over.
 */
import { Clock, Context, Duration, Effect, Layer } from "effect"
import { nextBlockedUntil, type CallLimits, type ProviderQuota } from "../../domain/connection/RateLimiter.js"
import { leaseMillis } from "../../domain/connection/SharedLimiter.js"
import { backgroundTask } from "../BackgroundTask.js"
import { Identifiers } from "../ports/Identifiers.js"
import { ProviderLimit } from "../provider/Protocol.js"
import type { CommandRefusal } from "./Protocol.js"
import { connectedCall } from "../../domain/Limits.js"

export interface SharedPermits {
  /** A permit for now, or when the provider takes the next call; `undefined`: nothing is leased, `fetch` first. */
  readonly take: (now: number) => { readonly lease: string } | { readonly at: number } | undefined
  /** After it there is a lease, or a time to wait for; others may take the lease's calls first. */
  readonly fetch: (timeoutMillis: number) => Effect.Effect<void, CommandRefusal>
  /** The call under this lease is over. */
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

/** A lease is at least so large where the limit allows: what is not used goes back at once. */
const least = 16
const patience = Duration.seconds(2)
/** Long enough for a call that was granted in the lease's last moment to be counted under it. */
const closing = Duration.millis(leaseMillis + 5)
/**
 * A place among the calls in flight is taken for so long at most, and kept while its call goes on: what a node that dies
 * had taken is free soon, and a call that lasts, or took what was leased for a shorter one, keeps its own.
 */
const placeMillis = 60_000
const keepInterval = Duration.seconds(15)
const unknown: CommandRefusal = {
  _tag: "Busy",
  reason: "the provider's limit cannot be looked up now",
  retryAfterSeconds: 1
}
const forgottenAfter = 10_000

/** A permit whose call should have ended a minute ago: its end was not reported. */
const lostAfterMillis = connectedCall.longestMillis + 60_000

export const layer = Layer.scoped(
  Permits,
  Effect.gen(function* () {
    const owner = yield* ProviderLimit.client
    const identifiers = yield* Identifiers
    const scope = yield* Effect.scope
    const pools = new Map<string, Pool>()

    const poolOf = (key: string, limits: CallLimits): Pool => {
      const known = pools.get(key)
      if (known !== undefined) {
        known.limits = limits
        return known
      }
      if (pools.size >= forgottenAfter)
        for (const [name, { leases, waiting }] of pools) if (leases.size === 0 && waiting === 0) pools.delete(name)
      const gate = Effect.unsafeMakeSemaphore(1)
      const made: Pool = { gate, leases: new Map(), limits, current: undefined, blockedUntil: 0, waiting: 0 }
      pools.set(key, made)
      return made
    }

    /** What is not heard counts as used by itself. */
    const report = (key: string, { leases, limits }: Pool, lease: Lease | undefined, reading: ProviderQuota | null) => {
      if (lease !== undefined) leases.delete(lease.id)
      const told = lease === undefined ? [] : [{ id: lease.id, used: lease.used, lastAt: lease.lastAt }]
      return owner(key)
        .Report({ limits, leases: told, reading })
        .pipe(
          Effect.mapInputContext<never, never>(() => Context.empty()),
          Effect.timeout(patience),
          Effect.sandbox,
          Effect.retry({ times: 2 }),
          Effect.ignoreLogged,
          Effect.forkIn(scope),
          Effect.asVoid
        )
    }

    /** A call in flight holds its place: it is reported when it is over. */
    const close = (key: string, pool: Pool, lease: Lease) =>
      Effect.suspend(() => {
        if (pool.current === lease) pool.current = undefined
        return pool.limits.concurrency !== null && lease.used > 0 ? Effect.void : report(key, pool, lease, null)
      })

    const lease = (key: string, pool: Pool, timeoutMillis: number) =>
      Effect.gen(function* () {
        const id = identifiers.token(16)
        const { limits, waiting } = pool
        const wanted = Math.max(least, waiting)
        const answer = yield* owner(key)
          .LeaseCalls({ limits, id, wanted, timeoutMillis: Math.min(timeoutMillis, placeMillis) })
          .pipe(
            Effect.mapInputContext<never, never>(() => Context.empty()),
            Effect.timeout(patience),
            // An owner on a node that dies is silent, or answers with a defect.
            Effect.sandbox,
            Effect.mapError(() => unknown)
          )
        if (answer._tag === "WaitUntil") {
          pool.blockedUntil = Math.max(pool.blockedUntil, answer.at)
          return
        }
        const made: Lease = { id, at: answer.at, left: answer.count, used: 0, lastAt: 0 }
        pool.leases.set(id, made)
        pool.current = made
        yield* Effect.forkIn(Effect.delay(close(key, pool, made), closing), scope)
      })

    /** Places of calls that last. What is not heard is said again before the place is lost. */
    const keepPlaces = Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.forEach(
        pools,
        ([key, { leases, limits }]) => {
          if (limits.concurrency === null) return Effect.void
          const lasts = ({ lastAt, used }: Lease) =>
            used > 0 && now - lastAt >= Duration.toMillis(keepInterval) && now - lastAt < lostAfterMillis
          const ids = [...leases.values()].filter(lasts).map(({ id }) => id)
          if (ids.length === 0) return Effect.void
          return owner(key)
            .Keep({ ids, forMillis: placeMillis })
            .pipe(
              Effect.mapInputContext<never, never>(() => Context.empty()),
              Effect.timeout(patience),
              Effect.sandbox,
              Effect.ignore
            )
        },
        { concurrency: 16, discard: true }
      )
    )
    const keeping = yield* backgroundTask("provider_limits.keep_places", keepPlaces)
    yield* keeping.run.pipe(Effect.delay(keepInterval), Effect.forever, Effect.interruptible, Effect.forkScoped)

    const take = (pool: Pool, now: number) => {
      if (pool.blockedUntil > now) return { at: pool.blockedUntil }
      const { current } = pool
      if (current === undefined || current.left < 1 || now >= current.at) return undefined
      current.left -= 1
      current.used += 1
      current.lastAt = now
      return { lease: current.id }
    }

    const fetch = (key: string, pool: Pool, timeoutMillis: number): Effect.Effect<void, CommandRefusal> =>
      Effect.suspend(() => {
        pool.waiting += 1
        return pool.gate.withPermits(1)(
          Effect.flatMap(Clock.currentTimeMillis, (now) => {
            const { blockedUntil, current } = pool
            const there = blockedUntil > now || (current !== undefined && current.left > 0 && now < current.at)
            return there ? Effect.void : lease(key, pool, timeoutMillis)
          })
        )
      }).pipe(
        Effect.ensuring(
          Effect.sync(() => {
            pool.waiting -= 1
          })
        )
      )

    return Permits.of({
      of: (organisation, connector, limits) => {
        const key = `${organisation}|${connector}`
        const pool = poolOf(key, limits)
        return {
          take: (now) => take(pool, now),
          fetch: (timeoutMillis) => fetch(key, pool, timeoutMillis),
          settle: (id, reading, now) => {
            const blocks = reading !== null && nextBlockedUntil(0, reading, now) > now
            if (blocks) pool.blockedUntil = nextBlockedUntil(pool.blockedUntil, reading, now)
            const held = pool.limits.concurrency === null ? undefined : pool.leases.get(id)
            return held === undefined && !blocks ? Effect.void : report(key, pool, held, blocks ? reading : null)
          }
        }
      }
    })
  })
)
