/** Connectors: saved as a draft, published as a version that never changes, listed with the built-in ones. */
import { HttpServerResponse } from "@effect/platform"
import { Duration, Effect, Option } from "effect"
import { ConnectionReads } from "../../actors/ports/ConnectionReads.js"
import { Digests } from "../../actors/ports/Digests.js"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import type { AlreadyExists, Changed, Tx } from "../../actors/ports/Records.js"
import {
  type ConnectorRecord,
  type ConnectorVersion,
  definitionText,
  draftProblem,
  type InlineClient,
  inlineProvider,
  storedDefinition,
  summaryOf,
  withoutSecrets
} from "../../domain/connector/Connector.js"
import { type ConnectorDefinition, definitionForm } from "../../domain/connector/Definition.js"
import { offerOf } from "../../domain/connector/Discover.js"
import { withActionVersions } from "../../domain/connector/Versions.js"
import { type Failure, invalid, NotFound, PlanLimitReached } from "../../domain/Failure.js"
import type { ConnectionId } from "../../domain/Ids.js"
import { Current } from "../auth/Authenticated.js"
import { outOfScope, type Principal, reaches } from "../../actors/management/Caller.js"
import type { Exchange } from "../pipeline/Exchange.js"
import { ResourceApi } from "./Api.js"
import { checkVersion } from "../../actors/management/CallContext.js"
import { Changes } from "../../actors/management/Changes.js"
import { group } from "../pipeline/Dispatch.js"
import { make as makeClients } from "./ClientRecords.js"
import { make as makeImport } from "./ConnectorImport.js"
import { make as makeList } from "./ConnectorList.js"
import {
  type BuiltIn,
  builtIns,
  findConnector,
  jsonOf,
  type Own,
  ownConnector,
  redirectUris,
  versionOf,
  wholeView
} from "./ConnectorRecords.js"
import { timestamp as nowText } from "../../actors/management/Timestamp.js"

/** Definitions may be megabytes: whoever waits gets a turn between two passes over one. */
const othersFirst = Effect.sleep(Duration.zero)

type Written = Effect.Effect<void, Failure | AlreadyExists | Changed>

const tag = (exchange: Exchange, record: ConnectorRecord) => {
  exchange.replyHeaders["etag"] = `"${record.version}"`
}

const trailOf = ({ latestVersion, name, semver }: ConnectorRecord) => ({ name, draft: semver, latestVersion })

export const ConnectorsLive = group(ResourceApi, "connectors", (handlers) =>
  Effect.gen(function* () {
    const { change, read: view } = yield* Changes
    const digests = yield* Digests
    const identifiers = yield* Identifiers
    const clients = yield* makeClients
    const { definitionFrom, offered } = yield* makeImport
    const { list } = yield* makeList
    const known = yield* builtIns
    const redirectUri = yield* redirectUris
    const viewOf = ({ caller }: Exchange, found: Own | BuiltIn, definition: ConnectorDefinition) =>
      wholeView(found, definition, redirectUri(caller.organisationId, definition.slug))

    const connections = yield* ConnectionReads

    const withinPlan = (tx: Tx, exchange: Exchange) =>
      Effect.gen(function* () {
        const limit = exchange.caller.plan.connectorsPerTenant
        if (limit === null) return
        // Exact: whoever makes one waits for whoever does so now.
        yield* tx.hold("connectors_per_tenant")
        const used = yield* tx.connectors.count({ deletedAt: null })
        if (used >= limit) return yield* new PlanLimitReached({ dimension: "connectors_per_tenant", limit, used })
      })

    const draftOf = (record: ConnectorRecord, definition: ConnectorDefinition): Effect.Effect<ConnectorVersion> =>
      Effect.zipLeft(
        Effect.map(othersFirst, () => draft(record, definition)),
        othersFirst
      )

    const draft = (record: ConnectorRecord, definition: ConnectorDefinition): ConnectorVersion => ({
      organisationId: record.organisationId,
      connectorId: record.id,
      number: record.current,
      semver: definition.version,
      definition: jsonOf(definition),
      form: definitionForm,
      actions: Object.fromEntries(definition.actions.map(({ name, version }) => [name, version])),
      contentHash: digests.sha256Hex(definitionText(definition)),
      notes: null,
      publishedAt: null,
      publishedBy: null
    })

    /** The clients that stand in a definition are stored as the default ones of their methods. */
    const storeClients = (tx: Tx, exchange: Exchange, slug: string, inline: ReadonlyArray<InlineClient>): Written =>
      Effect.forEach(
        inline,
        ({ clientId, clientSecret, methodId }) =>
          clients.upsert(tx, exchange.caller, slug, {
            name: inlineProvider,
            methodId,
            clientId,
            ...(clientSecret === undefined ? {} : { clientSecret })
          }),
        { discard: true }
      )

    const described = (definition: ConnectorDefinition) => ({
      name: definition.name,
      description: definition.description,
      kind: definition.kind,
      semver: definition.version,
      summary: summaryOf(definition)
    })

    /** The newest published version, where there is one. */
    const newest = Effect.fnUntraced(function* (tx: Tx, { id, latestVersion }: ConnectorRecord) {
      if (latestVersion === null) return undefined
      const row = yield* tx.connectorVersions.find({ connectorId: id, semver: latestVersion })
      return Option.isNone(row) ? undefined : yield* storedDefinition(row.value)
    })

    const create = (exchange: Exchange, whole: ConnectorDefinition) => {
      const { clients: inline, definition } = withoutSecrets(whole)
      return (tx: Tx) =>
        Effect.gen(function* () {
          yield* withinPlan(tx, exchange)
          const now = yield* nowText
          const record: ConnectorRecord = {
            id: identifiers.next("ctr"),
            organisationId: exchange.caller.organisationId,
            slug: definition.slug,
            ...described(definition),
            current: 1,
            latestVersion: null,
            createdBy: exchange.caller.key.id,
            createdAt: now,
            updatedAt: now,
            deletedAt: null,
            version: 1
          }
          yield* tx.connectors.insert(record)
          yield* tx.connectorVersions.insert(yield* draftOf(record, definition))
          yield* storeClients(tx, exchange, record.slug, inline)
          tag(exchange, record)
          const own: Own = { _tag: "Own", record }
          return { value: viewOf(exchange, own, definition), resource: record, after: trailOf(record) }
        })
    }

    const update = (exchange: Exchange, before: ConnectorRecord, sent: ConnectorDefinition, tx: Tx) =>
      Effect.gen(function* () {
        const { clients: inline, definition } = withoutSecrets(sent)
        const problem = draftProblem(before, yield* newest(tx, before), definition)
        if (problem !== undefined) return yield* problem
        const draft = yield* tx.connectorVersions.find({ connectorId: before.id, publishedAt: null })
        const record: ConnectorRecord = {
          ...before,
          ...described(definition),
          current: Option.isSome(draft) ? before.current : before.current + 1,
          updatedAt: yield* nowText,
          version: before.version + 1
        }
        const row = yield* draftOf(record, definition)
        yield* Option.isSome(draft) ? tx.connectorVersions.update(row) : tx.connectorVersions.insert(row)
        yield* tx.connectors.update(record)
        yield* storeClients(tx, exchange, record.slug, inline)
        tag(exchange, record)
        const own: Own = { _tag: "Own", record }
        return {
          value: viewOf(exchange, own, definition),
          resource: record,
          before: trailOf(before),
          after: trailOf(record)
        }
      })

    const publish = (exchange: Exchange, tx: Tx, named: string, notes: string | undefined) =>
      Effect.gen(function* () {
        const before = yield* ownConnector(tx, exchange.caller, known, named)
        yield* checkVersion(exchange, undefined, before.version)
        const draft = yield* tx.connectorVersions.find({ connectorId: before.id, publishedAt: null })
        if (Option.isNone(draft)) {
          // There is nothing that is not published: asked again, the answer is the same.
          tag(exchange, before)
          const own: Own = { _tag: "Own", record: before }
          const value = viewOf(exchange, own, yield* versionOf(tx, own, undefined))
          return { value, resource: before, before: trailOf(before), after: trailOf(before) }
        }
        const now = yield* nowText
        yield* othersFirst
        const definition = withActionVersions(yield* newest(tx, before), yield* storedDefinition(draft.value))
        const record: ConnectorRecord = {
          ...before,
          ...described(definition),
          latestVersion: definition.version,
          updatedAt: now,
          version: before.version + 1
        }
        yield* tx.connectorVersions.update({
          ...(yield* draftOf(record, definition)),
          notes: notes ?? null,
          publishedAt: now,
          publishedBy: exchange.caller.key.id
        })
        yield* tx.connectors.update(record)
        tag(exchange, record)
        const own: Own = { _tag: "Own", record }
        return {
          value: viewOf(exchange, own, definition),
          resource: record,
          before: trailOf(before),
          after: trailOf(record)
        }
      })

    /** A connection that the caller reaches. */
    const connectionOf = Effect.fnUntraced(function* (caller: Principal, id: string) {
      const gone = () => new NotFound({ what: "connection" })
      const scope = outOfScope(caller, "connection", id)
      if (scope !== undefined) return yield* scope
      // Any text: no other row matches.
      const found = Option.getOrUndefined(yield* connections.byId(caller.organisationId, id as ConnectionId))
      return found !== undefined && reaches(caller, found.customerId) ? found : yield* gone()
    })

    return handlers
      .handle("list", ({ urlParams }) => Effect.flatMap(Current, (exchange) => list(exchange, urlParams)))
      .handle("create", ({ payload }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const { definition, ...told } = yield* definitionFrom(exchange.caller, payload)
          const data = yield* change(exchange, create(exchange, definition))
          return { data, ...told }
        })
      )
      .handle("discover", ({ payload }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const { connectionId, connector, openapi } = payload
          if ([connectionId, connector, openapi].filter((one) => one !== undefined).length !== 1) {
            return yield* invalid(
              "connector",
              "REQUIRED",
              "is required, or connectionId, or openapi, and only one of them"
            )
          }
          if (openapi !== undefined) {
            const { definition, warnings } = yield* offered(exchange.caller, openapi)
            return { data: offerOf(definition), warnings }
          }
          const used = connectionId === undefined ? undefined : yield* connectionOf(exchange.caller, connectionId)
          const definition = yield* view(exchange, (tx) =>
            Effect.flatMap(findConnector(tx, exchange.caller, known, used?.connector ?? connector ?? ""), (found) =>
              versionOf(
                tx,
                found,
                found._tag === "Own" ? (used?.connectorVersion ?? found.record.latestVersion ?? undefined) : undefined
              )
            )
          )
          return { data: offerOf(definition) }
        })
      )
      .handle("get", ({ path, urlParams }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const data = yield* view(exchange, (tx) =>
            Effect.gen(function* () {
              const found = yield* findConnector(tx, exchange.caller, known, path.ctr)
              if (found._tag === "Own") tag(exchange, found.record)
              return viewOf(exchange, found, yield* versionOf(tx, found, urlParams.version))
            })
          )
          return { data }
        })
      )
      .handle("update", ({ path, payload }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          // First whether it is there: what is wrong with the body is told to those who may change it.
          const { slug } = yield* view(exchange, (tx) => ownConnector(tx, exchange.caller, known, path.ctr))
          const { definition, ...told } = yield* definitionFrom(exchange.caller, payload, slug)
          const data = yield* change(exchange, (tx) =>
            Effect.gen(function* () {
              const before = yield* ownConnector(tx, exchange.caller, known, path.ctr)
              yield* checkVersion(exchange, undefined, before.version)
              return yield* update(exchange, before, definition, tx)
            })
          )
          return { data, ...told }
        })
      )
      .handle("delete", ({ path }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const now = yield* nowText
          yield* change(exchange, (tx) =>
            Effect.gen(function* () {
              const before = yield* ownConnector(tx, exchange.caller, known, path.ctr)
              yield* checkVersion(exchange, undefined, before.version)
              yield* tx.connectors.update({ ...before, deletedAt: now, updatedAt: now, version: before.version + 1 })
              yield* tx.authProviders.remove({ connector: before.slug })
              return { value: null, resource: before, before: trailOf(before), after: null }
            })
          )
        })
      )
      .handle("publish", ({ path, payload }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          return { data: yield* change(exchange, (tx) => publish(exchange, tx, path.ctr, payload.notes)) }
        })
      )
      .handle("export", ({ path, urlParams }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const definition = yield* view(exchange, (tx) =>
            Effect.flatMap(findConnector(tx, exchange.caller, known, path.ctr), (found) =>
              versionOf(tx, found, urlParams.version)
            )
          )
          exchange.replyHeaders["content-disposition"] = `attachment; filename="${definition.slug}.connector.json"`
          return HttpServerResponse.unsafeJson(jsonOf(definition))
        })
      )
  })
)
