/**
 * The calls of one limit that this node may make. It leases them from the limit in batches, so that most calls wait for no
 * statement and no message, and reports each lease when it ends.
 */
import { Clock, Context, Duration, Effect, type Scope } from "effect"
import { connectedCall } from "../../domain/Limits.js"
import { type CallLimits, nextBlockedUntil, type ProviderQuota } from "../../domain/connection/CallLimits.js"
import type { LeaseRequest, LeaseTerms } from "../../domain/connection/CallLeases.js"
import { Unavailable } from "../../domain/Failure.js"
import type { LeaseAnswer, LeaseReport } from "../StoredLimit.js"
import type { CallPermits } from "./CallPermits.js"
import type { CommandRefusal } from "./Protocol.js"

interface PoolLease {
  readonly id: string
  readonly at: number
  left: number
  used: number
  lastAt: number
}

/** A limit from which calls are leased: by messages to its owner, or from the store. */
export interface LimitSource {
  readonly lease: (limits: CallLimits, request: LeaseRequest) => Effect.Effect<LeaseAnswer, unknown>
  readonly report: (
    limits: CallLimits,
    leases: ReadonlyArray<LeaseReport>,
    reading: ProviderQuota | null
  ) => Effect.Effect<void, unknown>
  readonly terms: (limits: CallLimits) => LeaseTerms
  /** The longest time for which a call holds its place among those in flight without being heard of. */
  readonly longestPlaceMillis: number
}

export interface PermitPool extends CallPermits {
  limits: CallLimits
  /** Whether calls are in flight or wait. */
  readonly isInUse: () => boolean
  /** Leases of calls that have lasted for so long. */
  readonly longCalls: (now: number, sinceMillis: number) => ReadonlyArray<string>
}

/** Calls that a lease asks for at least; unused ones go back when it ends. */
const minLease = 16
const answerTimeout = Duration.seconds(2)
/** A lease is closed so much after its end, to count a call that was granted at the very end. */
const closeDelayMillis = 5

/** Age after which a permit is treated as lost: its call must have ended a minute before. */
const lostAfterMillis = connectedCall.longestMillis + 60_000

const limitUnavailable = () =>
  new Unavailable({ reason: "the provider's limit cannot be looked up now", retryAfterSeconds: 1 })

/** Of an effect that the caller's transaction and time do not concern. */
const apart = <A, E>(effect: Effect.Effect<A, E>) =>
  effect.pipe(
    Effect.mapInputContext<never, never>(() => Context.empty()),
    Effect.timeout(answerTimeout),
    // An owner on a dying node does not answer, or answers with a defect.
    Effect.sandbox
  )

/** `scope`: of the node, since leases are reported when the owner of the connection has ended. */
export const makePermitPool = (
  source: LimitSource,
  limits: CallLimits,
  nextId: () => string,
  scope: Scope.Scope
): PermitPool => {
  const leases = new Map<string, PoolLease>()
  const gate = Effect.unsafeMakeSemaphore(1)
  let current: PoolLease | undefined
  /** By the provider. */
  let blockedUntil = 0
  /** By the limit. */
  let fullUntil = 0
  let waiting = 0

  /** Reports how a lease was used. A report that is lost counts as fully used. */
  const report = (reported: LeaseReport | undefined, reading: ProviderQuota | null) =>
    apart(source.report(pool.limits, reported === undefined ? [] : [reported], reading)).pipe(
      Effect.retry({ times: 2 }),
      Effect.tap(() => Effect.sync(() => void (fullUntil = 0))),
      Effect.ignoreLogged,
      Effect.forkIn(scope),
      Effect.asVoid
    )

  /** Ends a lease; one with calls in flight under a concurrency limit is reported when these end. */
  const close = (lease: PoolLease) =>
    Effect.suspend(() => {
      if (current === lease) current = undefined
      if (pool.limits.concurrency !== null && lease.used > 0) return Effect.void
      leases.delete(lease.id)
      return report({ id: lease.id, used: lease.used, lastAt: lease.lastAt }, null)
    })

  const fetchLease = (timeoutMillis: number): Effect.Effect<void, CommandRefusal> =>
    Effect.gen(function* () {
      const id = nextId()
      const answer = yield* apart(
        source.lease(pool.limits, {
          id,
          wanted: Math.max(minLease, waiting),
          timeoutMillis: Math.min(timeoutMillis, source.longestPlaceMillis)
        })
      ).pipe(Effect.mapError(limitUnavailable))
      if (answer._tag === "WaitUntil") {
        fullUntil = Math.max(fullUntil, answer.at)
        return
      }
      const lease: PoolLease = { id, at: answer.at, left: answer.count, used: 0, lastAt: 0 }
      leases.set(id, lease)
      current = lease
      const { millis } = source.terms(pool.limits)
      yield* Effect.forkIn(Effect.delay(close(lease), Duration.millis(millis + closeDelayMillis)), scope)
    })

  const usable = (now: number) => (current !== undefined && current.left > 0 && now < current.at ? current : undefined)
  const refusedUntil = () => Math.max(blockedUntil, fullUntil)

  const pool: PermitPool = {
    limits,
    take: (now) => {
      if (refusedUntil() > now) return { at: refusedUntil() }
      const lease = usable(now)
      if (lease === undefined) return undefined
      lease.left -= 1
      lease.used += 1
      lease.lastAt = now
      return { lease: lease.id }
    },
    // One request at a time, if no call is leased and the limit is not known to be reached.
    fetch: (timeoutMillis) =>
      Effect.suspend(() => {
        waiting += 1
        return gate.withPermits(1)(
          Effect.flatMap(Clock.currentTimeMillis, (now) =>
            refusedUntil() > now || usable(now) !== undefined ? Effect.void : fetchLease(timeoutMillis)
          )
        )
      }).pipe(Effect.ensuring(Effect.sync(() => void (waiting -= 1)))),
    settle: (id, reading, now) => {
      const blocks = nextBlockedUntil(0, reading, now) > now
      if (blocks) blockedUntil = nextBlockedUntil(blockedUntil, reading, now)
      const isPlace = pool.limits.concurrency !== null
      if (!isPlace && !blocks) return Effect.void
      // The lease may be that of another node: the connection's owner was there when the call was granted.
      const ended = isPlace ? { id, used: 1, lastAt: leases.get(id)?.lastAt ?? now } : undefined
      if (isPlace) leases.delete(id)
      return report(ended, blocks ? reading : null)
    },
    isInUse: () => leases.size > 0 || waiting > 0,
    longCalls: (now, sinceMillis) => {
      if (pool.limits.concurrency === null) return []
      for (const [id, { lastAt, used }] of leases) if (used > 0 && now - lastAt >= lostAfterMillis) leases.delete(id)
      return [...leases.values()]
        .filter(({ lastAt, used }) => used > 0 && now - lastAt >= sinceMillis)
        .map(({ id }) => id)
    }
  }
  return pool
}
