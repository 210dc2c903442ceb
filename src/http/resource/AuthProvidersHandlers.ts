/** The organisation's clients at providers: for its own connectors, and how it brings its own to built-in ones. */
import { Effect, Option } from "effect"
import type { Tx } from "../../actors/ports/Records.js"
import { type AuthProvider, authProviderView } from "../../domain/connector/Connector.js"
import type { Failure } from "../../domain/Failure.js"
import { invalid, NotFound } from "../../domain/Failure.js"
import { Current } from "../auth/Authenticated.js"
import type { Principal } from "../../actors/management/Caller.js"
import { ResourceApi } from "./Api.js"
import { checkVersion } from "../../actors/management/CallContext.js"
import { Changes } from "../../actors/management/Changes.js"
import { group } from "../pipeline/Dispatch.js"
import { clientsKept, make as makeClients } from "./ClientRecords.js"
import { builtIns, findConnector, redirectUris, versionOf } from "./ConnectorRecords.js"

/** The secret itself is in no trail; that there is another one is. */
const trailOf = (provider: AuthProvider | null) =>
  provider === null
    ? null
    : {
        name: provider.name,
        methodId: provider.methodId,
        clientId: provider.clientId,
        clientSecret: provider.clientSecret === null ? null : `version ${provider.version}`,
        scopes: provider.scopes,
        isDefault: provider.isDefault
      }

export const AuthProvidersLive = group(ResourceApi, "authProviders", (handlers) =>
  Effect.gen(function* () {
    const { change, read: view } = yield* Changes
    const clients = yield* makeClients
    const known = yield* builtIns
    const redirectUri = yield* redirectUris

    /** The connector's slug, and the methods that a client can be for. */
    const methodsOf = (tx: Tx, caller: Principal, named: string): Effect.Effect<Methods, Failure> =>
      Effect.gen(function* () {
        const found = yield* findConnector(tx, caller, known, named)
        const { auth, slug } = yield* versionOf(tx, found, undefined)
        return { slug, methods: auth.filter(({ type }) => type === "oauth2").map(({ id }) => id) }
      })

    return handlers
      .handle("list", ({ path }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const rows = yield* view(exchange, (tx) =>
            Effect.flatMap(methodsOf(tx, exchange.caller, path.ctr), ({ slug }) =>
              tx.authProviders.list({ where: { connector: slug }, limit: clientsKept })
            )
          )
          const { organisationId } = exchange.caller
          const data = rows.map((row) => authProviderView(row, redirectUri(organisationId, row.connector)))
          return { data, page: { size: clientsKept, nextCursor: null, hasMore: false } }
        })
      )
      .handle("upsert", ({ path, payload }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const data = yield* change(exchange, (tx) =>
            Effect.gen(function* () {
              const { methods, slug } = yield* methodsOf(tx, exchange.caller, path.ctr)
              if (!methods.includes(payload.methodId)) {
                return yield* invalid("methodId", "NOT_FOUND", "names no OAuth2 method of the connector")
              }
              const { after, before } = yield* clients.upsert(tx, exchange.caller, slug, payload)
              yield* checkVersion(exchange, undefined, before?.version ?? after.version)
              return {
                value: authProviderView(after, redirectUri(exchange.caller.organisationId, slug)),
                resource: { id: after.id, name: after.name },
                before: trailOf(before),
                after: trailOf(after)
              }
            })
          )
          return { data }
        })
      )
      .handle("delete", ({ path }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          yield* change(exchange, (tx) =>
            Effect.gen(function* () {
              const { slug } = yield* methodsOf(tx, exchange.caller, path.ctr)
              // Any text: no other row matches.
              const where = { id: path.aid as AuthProvider["id"], connector: slug }
              const found = yield* tx.authProviders.lock(where)
              if (Option.isNone(found)) return yield* new NotFound({ what: "auth provider" })
              yield* checkVersion(exchange, undefined, found.value.version)
              yield* tx.authProviders.remove(where)
              return {
                value: null,
                resource: { id: found.value.id, name: found.value.name },
                before: trailOf(found.value),
                after: null
              }
            })
          )
        })
      )
  })
)

interface Methods {
  readonly slug: string
  readonly methods: ReadonlyArray<string>
}
