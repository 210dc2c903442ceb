/** The connection actor over stores in memory and a provider that a test scripts, under the test clock. */
import { Entity, ShardingConfig } from "@effect/cluster"
import { assert } from "@effect/vitest"
import { Clock, Context, Effect, Exit, Layer, Option, Redacted, Scope } from "effect"
import { layer as actorLayer } from "../../src/actors/connection/Actor.js"
import { ConnectionCreation, layer as creationLayer } from "../../src/actors/connection/ConnectionCreation.js"
import * as ByteLedger from "../../src/runtime/memory/ByteLedger.js"
import { type CallPermits, Permits } from "../../src/actors/connection/CallPermits.js"
import { makeOwnPermits } from "../../src/actors/connection/SharedPermits.js"
import { Connection as ConnectionEntity } from "../../src/actors/connection/Protocol.js"
import { LocalOwners } from "../../src/actors/connection/LocalOwners.js"
import { LastUse } from "../../src/actors/connection/LastUse.js"
import type { CallPermit, Initiator } from "../../src/actors/ports/connection/Connections.js"
import { ConnectionStore } from "../../src/actors/ports/connection/ConnectionStore.js"
import { Connectors } from "../../src/actors/ports/connection/Connectors.js"
import { Digests } from "../../src/actors/ports/Digests.js"
import { Egress, EgressUnreachable } from "../../src/actors/ports/Egress.js"
import { Faults, type FaultPoint } from "../../src/actors/ports/Faults.js"
import { Identifiers } from "../../src/actors/ports/Identifiers.js"
import { Origin } from "../../src/actors/ports/Origin.js"
import { MailEgress } from "../../src/actors/ports/delivery/MailEgress.js"
import {
  TokenEndpoint,
  TokenRequestFailed,
  type TokenRequest,
  type Tokens
} from "../../src/actors/ports/connection/TokenEndpoint.js"
import {
  TokensNotKept,
  type UnstoredAnswer,
  UnstoredTokens
} from "../../src/actors/connection/credential/TokenCommits.js"
import { Ownership } from "../../src/actors/ports/Ownership.js"
import { Vault } from "../../src/actors/ports/Vault.js"
import type { Unavailable } from "../../src/domain/Failure.js"
import { type ConnectorManifest, decodeManifest } from "../../src/domain/connector/Definition.js"
import type { ConnectionId, CustomerId, OrganisationId } from "../../src/domain/Ids.js"
import { makeDigests, makeIdentifiers } from "../../src/runtime/process/Crypto.js"
import { Patterns } from "../../src/actors/Patterns.js"
import * as OutwardPlaces from "../../src/actors/Places.js"
import { unlimited } from "../../src/domain/connection/CallLimits.js"
import { outwardPlaces } from "../../src/domain/Limits.js"
import { connectionTable } from "./connectionTable.js"
import { limitTable } from "./limitTable.js"
import { aloneNode, ownershipOf } from "./ownership.js"
import { computationsInProcess } from "./computations.js"
import { layerOwnAccounts } from "./shareOwners.js"

export const organisation = "org_00000000000000000000000001"
export const origin = "https://api.acme.example"
export const initiator: Initiator = {
  actor: { id: "key_1", ip: null, name: "test", onBehalfOf: null, type: "service_account", userAgent: null },
  requestId: null
}

export const manifest = (refresh: object = {}, more: Partial<ConnectorManifest> = {}): ConnectorManifest => ({
  svcConnector: 1,
  slug: "acme",
  name: "Acme",
  kind: "crm",
  version: "1.0.0",
  baseUrl: origin,
  auth: [
    {
      id: "oauth",
      type: "oauth2",
      authorizationUrl: "https://acme.example/authorize",
      tokenUrl: "https://acme.example/token",
      scopes: ["read"],
      refresh
    },
    { id: "key", type: "api_key" }
  ],
  actions: [{ name: "me", request: { method: "GET", path: "/me" } }],
  ...more
})

type Answer = Effect.Effect<Partial<Tokens>, TokenRequestFailed>

/** A token endpoint that answers each request as the script says, and counts the requests. */
export const freshTokens = (n: number, seconds = 3_600): Partial<Tokens> => ({
  accessToken: Redacted.make(`access-${n}`),
  refreshToken: Redacted.make(`refresh-${n}`),
  expiresInSeconds: seconds
})
export const failedAnswer = (status: number | null, code: string | null = null): Answer =>
  Effect.fail(
    new TokenRequestFailed({
      status,
      codes: code === null ? [] : [code],
      message: `the token endpoint answered ${status}: ${code}`
    })
  )

interface ApiAnswer {
  readonly status: number
  readonly body: string
}

export interface WorldOptions {
  readonly answer: (request: TokenRequest, n: number) => Answer
  readonly manifest?: ConnectorManifest
  /** The API's answer to the connector's test request. */
  readonly api?: (headers: ReadonlyArray<readonly [string, string]>) => ApiAnswer | Effect.Effect<ApiAnswer>
  readonly permits?: Permits["Type"]
  /** Runs before a connector is read. */
  readonly reading?: Effect.Effect<void>
  /** Runs before each statement; fails as a database that does not answer. */
  readonly database?: Effect.Effect<void, Unavailable>
  /** Runs after an intent was written; fails as a database whose answer is lost. */
  readonly intended?: Effect.Effect<void, Unavailable>
  /** The processes that the nodes of a cluster see; without it each node counts itself as alone. The first is `node-1`. */
  readonly running?: ReadonlySet<string>
  /** Runs when an owner reaches a kill point. */
  readonly at?: (point: FaultPoint) => Effect.Effect<void>
}

/** A vault without encryption: it only binds a text to its place, which is enough for the actor's tests. */
const bound = (place: object, plain: string | Uint8Array) =>
  Buffer.from(`${JSON.stringify(place)}\n${Buffer.from(plain).toString("base64")}`)

export const vaultMemory = Layer.succeed(
  Vault,
  Vault.of({
    cached: () => undefined,
    seal: () => Effect.dieMessage("not used"),
    open: () => Effect.dieMessage("not used"),
    opener: () => Effect.dieMessage("not used"),
    of: (org) =>
      Effect.succeed({
        seal: (place, plain) => bound({ org, ...place }, plain),
        open: (place, sealed) => {
          const [at, text = ""] = Buffer.from(sealed).toString().split("\n")
          if (at !== JSON.stringify({ org, ...place })) throw new Error("sealed for another place")
          return Buffer.from(text, "base64")
        }
      })
  })
)

/** The files of uncommitted tokens, in memory. */
const unstoredTokensOf = (files: Map<ConnectionId, UnstoredAnswer>) =>
  UnstoredTokens.of({
    keep: (answer) => Effect.sync(() => void files.set(answer.connectionId, answer)),
    remove: (id) => Effect.sync(() => void files.delete(id)),
    ids: Effect.sync(() => [...files.keys()]),
    read: (id) => Effect.fromNullable(files.get(id)).pipe(Effect.mapError(() => new TokensNotKept({ reason: id })))
  })

/** Fails when it is used: tests with limits over all connections of a connector pass permits of their own. */
const none: CallPermits = {
  limits: unlimited,
  take: () => {
    throw new Error("the connector counts over all connections")
  },
  fetch: () => Effect.void,
  settle: () => Effect.void
}

const uses = Layer.succeed(LastUse, LastUse.make({ record: () => Effect.void }))

export const makeWorld = (options: WorldOptions) =>
  Effect.gen(function* () {
    const { audit, counted, events, rows, sessions, store } = connectionTable({
      statement: options.database,
      intended: options.intended
    })
    const files = new Map<ConnectionId, UnstoredAnswer>()
    const asked: Array<TokenRequest> = []
    const digests = makeDigests({ pepper: Redacted.make("a pepper of thirty-two characters") })
    const identifiers = makeIdentifiers()
    const definition = decodeManifest(options.manifest ?? manifest())

    const endpoint = TokenEndpoint.of({
      request: (request) =>
        Effect.suspend(() => {
          asked.push(request)
          // The end of a test must not wait for a provider that never answers.
          return Effect.map(Effect.interruptible(options.answer(request, asked.length)), (tokens): Tokens => ({
            accessToken: Redacted.make("none"),
            refreshToken: null,
            expiresInSeconds: null,
            scopes: null,
            config: {},
            ...tokens
          }))
        }),
      revoke: () => Effect.void
    })

    const egress = Egress.of({
      ask: () => {
        throw new Error("no test asks for it")
      },
      check: () => Effect.void,
      checkTarget: () => Effect.void,
      open: () => Effect.dieMessage("open"),
      readings: Effect.dieMessage("readings"),
      send: ({ headers, url }) =>
        options.api === undefined
          ? new EgressUnreachable({ url, reason: "the connection was refused" })
          : Effect.suspend(() => {
              const answer = options.api?.(headers) ?? { status: 500, body: "" }
              return Effect.isEffect(answer) ? answer : Effect.succeed(answer)
            }).pipe(
              Effect.map(({ body, status }) => ({
                status,
                url,
                headers: [["content-type", "application/json"] as const],
                body: new TextEncoder().encode(body)
              }))
            )
    })

    const ports = Layer.mergeAll(
      ByteLedger.layer({ bytes: 2 ** 28 }),
      Layer.succeed(ConnectionStore, store),
      Layer.succeed(TokenEndpoint, endpoint),
      Layer.succeed(Egress, egress),
      Layer.succeed(MailEgress, MailEgress.of({ send: () => Effect.dieMessage("there is no mail here") })),
      Layer.succeed(Digests, digests),
      Layer.succeed(Origin, "https://svc.example"),
      Layer.succeed(Identifiers, identifiers),
      Patterns.Default.pipe(Layer.provideMerge(computationsInProcess), Layer.provide(layerOwnAccounts)),
      OutwardPlaces.layer({ tests: outwardPlaces.tests }),
      layerOwnAccounts,
      Layer.succeed(
        Connectors,
        Connectors.of({
          find: (_organisation, slug) =>
            Effect.as(options.reading ?? Effect.void, slug === "acme" ? Option.some(definition) : Option.none()),
          findLatest: (_organisation, slug) =>
            Effect.succeed(slug === definition.slug ? Option.some(definition) : Option.none()),
          slugs: () => Effect.succeed(["acme"]),
          withAction: () => Effect.succeedNone,
          clientOf: () =>
            Effect.succeedSome({
              id: "aup_1",
              clientId: "client",
              clientSecret: Redacted.make("client-secret"),
              scopes: []
            })
        })
      ),
      vaultMemory
    )

    const own = makeOwnPermits(limitTable().windows, () => identifiers.token(16), yield* Effect.scope)
    const permits = options.permits ?? Permits.of({ shared: () => none, own })

    /** The in-process fast path on the node that was started last. */
    const local = Context.get(
      yield* Layer.build(LocalOwners.Default.pipe(Layer.provide(uses), Layer.provide(aloneNode))),
      LocalOwners
    )
    /** Of the actors, the latest of each connection. */
    const scopes = new Map<string, Scope.Scope>()
    const residents = Context.make(
      LocalOwners,
      LocalOwners.make({
        ...local,
        register: (owner, scope) => {
          scopes.set(owner.id, scope)
          return local.register(owner, scope)
        }
      })
    )

    const layer = actorLayer.pipe(
      Layer.provide(uses),
      Layer.provide(Layer.succeedContext(residents)),
      Layer.provide(Layer.succeed(Permits, permits)),
      Layer.provide(ports)
    )

    /** Starts a node that owns all connections. Nodes share only the stores. */
    let nodes = 0
    const node = Effect.suspend(() => {
      const process = `node-${(nodes += 1)}`
      const { running } = options
      const mayRun = (asked: string) => asked === process || running?.has(asked) === true
      const ownership = ownershipOf({ process, mayRun, isAlone: running === undefined })
      // Of a cluster each has a data directory of its own; without one a further node is the next start of the first.
      const kept = running === undefined || nodes === 1 ? files : new Map()
      const own = Layer.merge(
        Layer.succeed(Ownership, ownership),
        Layer.succeed(UnstoredTokens, unstoredTokensOf(kept))
      )
      return Entity.makeTestClient(ConnectionEntity, Layer.provide(layer, own))
    }).pipe(
      Effect.provideService(Faults, { at: (point) => Effect.interruptible(options.at?.(point) ?? Effect.void) }),
      Effect.provide(ShardingConfig.layerDefaults)
    )
    const client = yield* node
    const creation = Context.get(
      yield* Layer.build(Layer.provide(creationLayer, ports)).pipe(
        Effect.provideService(Faults, { at: () => Effect.void })
      ),
      ConnectionCreation
    )

    /** Creates a connection whose access token expires after `seconds`. Returns its id. */
    const connected = Effect.fnUntraced(function* (
      seconds: number | null = 3_600,
      refreshToken: string | null = "refresh-0"
    ) {
      const id = identifiers.next("conn")
      yield* creation.create(id, {
        organisationId: organisation as OrganisationId,
        by: initiator,
        connector: "acme",
        customerId: "cus_1" as CustomerId,
        userId: null,
        authMethod: "oauth",
        authProvider: null,
        label: null,
        config: {},
        tags: {},
        metadata: {},
        credential: {
          accessToken: Redacted.make("access-0"),
          ...(refreshToken === null ? {} : { refreshToken: Redacted.make(refreshToken) }),
          ...(seconds === null ? {} : { expiresIn: Redacted.make(String(seconds)) })
        },
        redirectUrl: null
      })
      return id
    })

    const authorize = (id: string, from = client) =>
      Effect.flatMap(from(id), (actor) =>
        actor.Authorize({ organisationId: organisation, origin, executionId: null, timeoutMillis: 60_000 })
      )

    const row = (id: string) => {
      const found = rows.get(id as ConnectionId)
      if (found === undefined) throw new Error("no such connection")
      return found
    }
    const types = () => events.map(({ type }) => type.slice("connection.".length))
    const now = Clock.currentTimeMillis

    /** Authorizes by the fast path; `undefined` if only a message to the actor can answer. */
    const atOnce = (id: ConnectionId) =>
      Context.get(residents, LocalOwners).tryGrant(id, {
        organisationId: organisation,
        origin,
        executionId: null,
        timeoutMillis: 60_000
      })
    const settledAtOnce = (id: ConnectionId, permit: CallPermit, status: number | null) =>
      Context.get(residents, LocalOwners).trySettle(id, { permit, status, reading: null })

    /** Ends the connection's actor, as when its node gives the shard up. */
    const endActor = (id: string) =>
      Effect.suspend(() => Scope.close((scopes.get(id) ?? assert.fail()) as Scope.CloseableScope, Exit.void))

    return {
      client,
      node,
      endActor,
      connected,
      authorize,
      atOnce,
      settledAtOnce,
      row,
      rows,
      files,
      sessions,
      events,
      types,
      audit,
      asked,
      /** How often an owner read its connection from the store. */
      loads: () => counted.loads,
      now,
      identifiers
    }
  })
