/** The connector's parts that calls need, cached for a second for all connections that share them. */
import { Effect, Either } from "effect"
import { type CallLimits, unlimited } from "../../domain/connection/RateLimiter.js"
import { RecentMap } from "../../domain/RecentMap.js"
import { connectionOrigins } from "../../domain/connector/request/BaseUrl.js"
import type { ConnectorDefinition } from "../../domain/connector/Definition.js"
import type { CachedConnector, OpenConnection, ConnectionOwner } from "./ConnectionOwner.js"
import { ConnectionOwners } from "./ConnectionOwners.js"
import { Permits } from "./SharedPermits.js"
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

export const makeConnectorCache = Effect.gen(function* () {
  const owners = yield* ConnectionOwners
  const permits = yield* Permits
  const cache = new RecentMap<string, CachedConnector>(maxCachedConnectors)

  const readConnector = Effect.fnUntraced(function* (
    self: ConnectionOwner,
    { connection }: OpenConnection,
    now: number
  ): Effect.fn.Return<CachedConnector, CommandRefusal> {
    const { authMethod, config, connector, connectorVersion, organisationId } = connection
    const key = JSON.stringify([organisationId, connector, connectorVersion, authMethod, config])
    const cached = cache.get(key)
    if (cached !== undefined && now < cached.until) {
      self.connector = cached
      return cached
    }
    const definition = yield* owners.definitionOf(organisationId, connector, connectorVersion)
    const method = yield* owners.methodOf(definition, authMethod)
    const vault = yield* owners.vaultOf(organisationId)
    const origins = Either.getOrElse(connectionOrigins(definition, config), () => [])
    const limits = limitsOf(definition)
    const limitScope =
      definition.rateLimit?.scope === "connector"
        ? { limits: unlimited, shared: permits.of(organisationId, connector, limits) }
        : { limits, shared: null }
    const read: CachedConnector = { until: now + cacheMillis, definition, method, origins, vault, ...limitScope }
    cache.set(key, read)
    self.connector = read
    return read
  })

  /** The connection's connector, from the owner, from the cache or read. */
  const connectorOf = (self: ConnectionOwner, open: OpenConnection, now: number) =>
    self.connector !== undefined && now < self.connector.until
      ? Effect.succeed(self.connector)
      : readConnector(self, open, now)

  return { connectorOf }
})
