/** Connectors as surface C finds and shows them: the organisation's own, and the built-in ones beside them. */
import { Effect, Option } from "effect"
import { Digests } from "../../actors/ports/Digests.js"
import type { Tx } from "../../actors/ports/Records.js"
import { callbackPath } from "../../domain/connection/Callback.js"
import { builtIn, type ConnectorRecord, storedDefinition, summaryOf } from "../../domain/connector/Connector.js"
import type { ConnectorDefinition } from "../../domain/connector/Definition.js"
import { builtInConnectors } from "../../domain/connectors/index.js"
import { type Conflict, type Failure, NotFound, type Unavailable } from "../../domain/Failure.js"
import type { OrganisationId } from "../../domain/Ids.js"
import type { JsonObject } from "../../domain/Json.js"
import { outOfScope, type Principal } from "../../actors/management/Caller.js"
import { Origin } from "../../actors/ports/Origin.js"

export interface BuiltIn {
  readonly _tag: "BuiltIn"
  readonly id: string
  readonly definition: ConnectorDefinition
}
export interface Own {
  readonly _tag: "Own"
  readonly record: ConnectorRecord
}

export const gone = () => new NotFound({ what: "connector" })
const goneVersion = () => new NotFound({ what: "published version of this connector" })

/** Built-in connectors are as old as the catalogue: in a list they come last. */
export const builtInSince = "2026-01-01T00:00:00.000Z"

/** The built-in connectors, each with the id that it has everywhere. */
export const builtIns: Effect.Effect<ReadonlyArray<BuiltIn>, never, Digests> = Effect.map(Digests, ({ sha256Hex }) =>
  builtInConnectors.map((one) => ({
    _tag: "BuiltIn" as const,
    id: `ctr_0${sha256Hex(`connector|${one.slug}`).slice(0, 25)}`,
    get definition() {
      return one.definition()
    }
  }))
)

/** The connector that a path names by id or slug: the organisation's own goes before a built-in one of the same slug. */
export const findConnector = (
  tx: Tx,
  caller: Principal,
  known: ReadonlyArray<BuiltIn>,
  named: string,
  lock = false
): Effect.Effect<Own | BuiltIn, Failure> =>
  Effect.gen(function* () {
    // Any text: no other row matches.
    const by = named.startsWith("ctr_") ? { id: named as ConnectorRecord["id"] } : { slug: named }
    const where = { ...by, deletedAt: null }
    const own = yield* lock ? tx.connectors.lock(where) : tx.connectors.find(where)
    const found: Own | BuiltIn | undefined = Option.isSome(own)
      ? { _tag: "Own", record: own.value }
      : known.find(({ definition, id }) => id === named || definition.slug === named)
    if (found === undefined) return yield* gone()
    const outside = outOfScope(caller, "connector", found._tag === "Own" ? found.record.id : found.id)
    return outside === undefined ? found : yield* outside
  })

/** Like `findConnector`, to be changed: nobody else changes it until the transaction ends. */
export const ownConnector = (
  tx: Tx,
  caller: Principal,
  known: ReadonlyArray<BuiltIn>,
  named: string
): Effect.Effect<ConnectorRecord, Failure> =>
  Effect.flatMap(findConnector(tx, caller, known, named, true), (found): Effect.Effect<ConnectorRecord, Conflict> =>
    found._tag === "Own" ? Effect.succeed(found.record) : builtIn(found.definition.slug)
  )

/** The definition that is worked on, or the published one of that version. */
export const versionOf = (
  tx: Tx,
  found: Own | BuiltIn,
  version: string | undefined
): Effect.Effect<ConnectorDefinition, NotFound | Unavailable> => {
  if (found._tag === "BuiltIn") {
    const { definition } = found
    return version === undefined || version === definition.version ? Effect.succeed(definition) : goneVersion()
  }
  const { current, id } = found.record
  return Effect.flatMap(
    tx.connectorVersions.find({
      connectorId: id,
      ...(version === undefined ? { number: current } : { semver: version })
    }),
    Option.match({ onNone: version === undefined ? gone : goneVersion, onSome: storedDefinition })
  )
}

/** A definition, or a part of one, as JSON: it is plain data. */
export const jsonOf = (value: object): JsonObject => value as JsonObject

type Summary = Pick<
  typeof ConnectorDefinition.Type,
  "protocol" | "toolActions" | "slug" | "name" | "description" | "kind"
> & {
  readonly domain: string | null
  readonly iconUrl: string | null
  readonly actions: ReadonlyArray<JsonObject>
  readonly authMethods: ReadonlyArray<JsonObject>
  readonly events: ReadonlyArray<JsonObject>
  readonly entities: ReadonlyArray<JsonObject>
}

/** What lists show of a connector. */
export const summaryView = (found: Own | BuiltIn) => {
  if (found._tag === "BuiltIn") {
    const { definition, id } = found
    const { description, kind, name, slug, version } = definition
    return {
      id,
      visibility: "managed" as const,
      version,
      latestVersion: version,
      status: "published" as const,
      createdAt: builtInSince,
      updatedAt: builtInSince,
      // `summaryOf` made it.
      ...({ ...summaryOf(definition), slug, name, description, kind } as unknown as Summary)
    }
  }
  const { createdAt, description, id, kind, latestVersion, name, semver, slug, summary, updatedAt } = found.record
  return {
    id,
    visibility: "private" as const,
    version: semver,
    latestVersion,
    status: latestVersion === null ? ("draft" as const) : ("published" as const),
    createdAt,
    updatedAt,
    // `summaryOf` made it when the record was written.
    ...({ ...summary, slug, name, description, kind } as unknown as Summary)
  }
}

/** Where a provider sends people back to who connect an organisation's account by this connector. */
export const redirectUris = Effect.map(
  Effect.all([Digests, Origin]),
  ([{ keyHash }, origin]) =>
    (organisation: OrganisationId, connector: string): string =>
      `${origin}${callbackPath(keyHash, organisation, connector)}`
)

const sendsPeople = ({ auth }: ConnectorDefinition) =>
  auth.some((method) => method.type === "oauth2" && method.grant === "authorization_code")

/** All of a connector. */
export const wholeView = (found: Own | BuiltIn, definition: ConnectorDefinition, redirectUri: string) => ({
  ...summaryView(found),
  version: definition.version,
  transport: definition.transport,
  baseUrl: definition.baseUrl,
  connectionConfig: definition.connectionConfig ?? null,
  actions: definition.actions.map(jsonOf),
  authMethods: definition.auth.map(jsonOf),
  redirectUri: sendsPeople(definition) ? redirectUri : null,
  events: definition.events.map(jsonOf),
  entities: definition.entities.map(jsonOf),
  webhooks: definition.webhooks.map(jsonOf),
  test: definition.test === undefined ? null : jsonOf(definition.test),
  rateLimit: definition.rateLimit === undefined ? null : jsonOf(definition.rateLimit),
  retry: jsonOf(definition.retry),
  schemas: definition.schemas
})
