/**
 * Where this node's permits come from: of a limit over all connections of a connector, from its owner, in batches; of a
 * limit of one connection, from the store, whose only reader is the connection's owner.
 */
import { Clock, Context, Duration, Effect, Layer, type Scope } from "effect"
import type { CallLimits } from "../../domain/connection/CallLimits.js"
import { sharedTerms, soleTerms } from "../../domain/connection/CallLeases.js"
import { connectedCall } from "../../domain/Limits.js"
import { backgroundTask, repeatEvery } from "../BackgroundTask.js"
import { Identifiers } from "../ports/Identifiers.js"
import { ProviderWindows } from "../ports/connection/ProviderWindows.js"
import { ProviderLimit } from "../provider/Protocol.js"
import { makeStoredLimit } from "../StoredLimit.js"
import { Permits } from "./CallPermits.js"
import { type LimitSource, makePermitPool, type PermitPool } from "./PermitPool.js"

const ownerTimeout = Duration.seconds(2)
/**
 * A slot among the calls in flight expires after this time and is extended while its call lasts: slots of a node that died
 * are free soon, and a long call keeps its slot.
 */
const slotMillis = 60_000
const keepInterval = Duration.seconds(15)
const maxPools = 10_000

/** Of limits of single connections. `scope`: of the node. */
export const makeOwnPermits =
  (windows: ProviderWindows["Type"], nextId: () => string, scope: Scope.Scope): Permits["Type"]["own"] =>
  (organisation, connection, limits) => {
    const limit = makeStoredLimit(windows, { organisation, connection })
    const source: LimitSource = {
      lease: (limited, request) => limit.lease(limited, request, soleTerms(limited)),
      report: limit.report,
      terms: soleTerms,
      // A call of a node that died holds its place until it must have ended.
      longestPlaceMillis: connectedCall.longestMillis
    }
    return makePermitPool(source, limits, nextId, scope)
  }

export const layer = Layer.scoped(
  Permits,
  Effect.gen(function* () {
    const owner = yield* ProviderLimit.client
    const windows = yield* ProviderWindows
    const identifiers = yield* Identifiers
    const scope = yield* Effect.scope
    const pools = new Map<string, PermitPool>()
    const nextId = () => identifiers.token(16)

    const poolOf = (key: string, limits: CallLimits): PermitPool => {
      const existing = pools.get(key)
      if (existing !== undefined) {
        existing.limits = limits
        return existing
      }
      if (pools.size >= maxPools) for (const [name, pool] of pools) if (!pool.isInUse()) pools.delete(name)
      const source: LimitSource = {
        lease: (limited, request) => owner(key).LeaseCalls({ limits: limited, ...request }),
        report: (limited, leases, reading) => owner(key).Report({ limits: limited, leases, reading }),
        terms: () => sharedTerms,
        longestPlaceMillis: slotMillis
      }
      const pool = makePermitPool(source, limits, nextId, scope)
      pools.set(key, pool)
      return pool
    }

    /** Extends the slots of long calls, often enough that one lost message loses no slot. */
    const extendSlots = Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.forEach(
        pools,
        ([key, pool]) => {
          const ids = pool.longCalls(now, Duration.toMillis(keepInterval))
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

    const keeping = yield* backgroundTask("provider_limits.keep_places", extendSlots)
    yield* repeatEvery(keepInterval, keeping.run, "later")

    return Permits.of({
      shared: (organisation, connector, limits) => poolOf(`${organisation}|${connector}`, limits),
      own: makeOwnPermits(windows, nextId, scope)
    })
  })
)
