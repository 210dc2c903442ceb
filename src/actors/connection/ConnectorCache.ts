/** The connector's parts that calls need, cached for a second for all connections that share them. */
import { Effect, Either } from "effect"
import { type CallLimits, hasLimits, unlimited } from "../../domain/connection/CallLimits.js"
import { RecentMap } from "../../domain/RecentMap.js"
import { connectionOrigins } from "../../domain/connector/request/BaseUrl.js"
import type { ConnectorDefinition } from "../../domain/connector/Definition.js"
import type { CachedConnector, OpenConnection, ConnectionOwner } from "./ConnectionOwner.js"
import { ConnectionOwners } from "./ConnectionOwners.js"
import { Permits } from "./CallPermits.js"
import type { CommandRefusal } from "./Protocol.js"

/** Lifetime of a cached connector. */
const cacheMillis = 1_000

const maxCachedConnectors = 1_000

const limitsOf = ({ rateLimit }: ConnectorDefinition): CallLimits =>
  rateLimit === undefined
    ? unlimited
    : {
        requests: rateLimit.requests ?? null,
        perMillis: rateLimit.perSeconds * 1000,
        concurrency: rateLimit.concurrency ?? null
      }

const isSame = (one: CallLimits, other: CallLimits): boolean =>
  one.requests === other.requests && one.perMillis === other.perMillis && one.concurrency === other.concurrency

export const makeConnectorCache = Effect.gen(function* () {
  const owners = yield* ConnectionOwners
  const permits = yield* Permits
  const cache = new RecentMap<string, CachedConnector>(maxCachedConnectors)

  /** Gives it to the owner, with permits if it has limits of its own. */
  const adopt = (self: ConnectionOwner, organisation: string, connector: CachedConnector) => {
    const { limits } = connector
    if (!hasLimits(limits)) self.permits = undefined
    else if (self.permits === undefined || !isSame(self.permits.limits, limits))
      self.permits = permits.own(organisation, self.id, limits)
    self.connector = connector
    return connector
  }

  const readConnector = Effect.fnUntraced(function* (
    self: ConnectionOwner,
    { connection }: OpenConnection,
    now: number
  ): Effect.fn.Return<CachedConnector, CommandRefusal> {
    const { authMethod, config, connector, connectorVersion, organisationId } = connection
    const key = JSON.stringify([organisationId, connector, connectorVersion, authMethod, config])
    const cached = cache.get(key)
    if (cached !== undefined && now < cached.until) return adopt(self, organisationId, cached)
    const definition = yield* owners.definitionOf(organisationId, connector, connectorVersion)
    const method = yield* owners.methodOf(definition, authMethod)
    const vault = yield* owners.vaultOf(organisationId)
    const origins = Either.getOrElse(connectionOrigins(definition, config), () => [])
    const limits = limitsOf(definition)
    const limitScope =
      definition.rateLimit?.scope === "connector"
        ? { limits: unlimited, shared: permits.shared(organisationId, connector, limits) }
        : { limits, shared: null }
    const read: CachedConnector = { until: now + cacheMillis, definition, method, origins, vault, ...limitScope }
    cache.set(key, read)
    return adopt(self, organisationId, read)
  })

  /** The connection's connector, from the owner, from the cache or read. */
  const connectorOf = (self: ConnectionOwner, open: OpenConnection, now: number) =>
    self.connector !== undefined && now < self.connector.until
      ? Effect.succeed(self.connector)
      : readConnector(self, open, now)

  return { connectorOf }
})
