/** Finds and shows connectors for use cases: the organisation's own and the built-in ones. */
import { Effect, Option } from "effect"
import { appWebhookUrls } from "../../../domain/trigger/AppWebhookAddress.js"
import { callbackPath } from "../../../domain/connection/Callback.js"
import {
  builtInRefusal,
  type ConnectorRecord,
  readStoredDefinition,
  connectorSummary
} from "../../../domain/connector/ConnectorRecord.js"
import type { ConnectorDefinition } from "../../../domain/connector/Definition.js"
import { builtInConnectors } from "../../../domain/connectors/index.js"
import { type Failure, NotFound } from "../../../domain/Failure.js"
import type { OrganisationId } from "../../../domain/Ids.js"
import type { JsonObject } from "../../../domain/Json.js"
import { Digests } from "../../ports/Digests.js"
import { Origin } from "../../ports/Origin.js"
import type { Tx } from "../../ports/Records.js"
import { outOfScope, type Principal } from "../Caller.js"

export interface BuiltInConnector {
  readonly _tag: "BuiltIn"
  readonly id: string
  readonly definition: ConnectorDefinition
}
export interface OwnConnector {
  readonly _tag: "Own"
  readonly record: ConnectorRecord
}
export type FoundConnector = OwnConnector | BuiltInConnector

const notFound = () => new NotFound({ what: "connector" })
const versionNotFound = () => new NotFound({ what: "published version of this connector" })

/** The creation time of built-in connectors, so that lists end with them. */
export const builtInSince = "2026-01-01T00:00:00.000Z"

/** The draft, or the published definition of this version. */
export const definitionOf = (tx: Tx, found: FoundConnector, version: string | undefined) => {
  if (found._tag === "BuiltIn") {
    const { definition } = found
    return version === undefined || version === definition.version ? Effect.succeed(definition) : versionNotFound()
  }
  const { current, id } = found.record
  return Effect.flatMap(
    tx.connectorVersions.find({
      connectorId: id,
      ...(version === undefined ? { number: current } : { semver: version })
    }),
    Option.match({ onNone: version === undefined ? notFound : versionNotFound, onSome: readStoredDefinition })
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

/** A connector as lists show it. */
export const summaryView = (found: FoundConnector) => {
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
      ...({ ...connectorSummary(definition), slug, name, description, kind } as unknown as Summary)
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
export type ConnectorSummaryView = ReturnType<typeof summaryView>

const sendsPeople = ({ auth }: ConnectorDefinition) =>
  auth.some((method) => method.type === "oauth2" && method.grant === "authorization_code")

/** A connector with its complete definition. */
const detailView = (
  found: FoundConnector,
  definition: ConnectorDefinition,
  {
    redirectUri,
    webhookUrls
  }: { readonly redirectUri: string; readonly webhookUrls: ReturnType<typeof appWebhookUrls> }
) => ({
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
  webhookUrls,
  test: definition.test === undefined ? null : jsonOf(definition.test),
  rateLimit: definition.rateLimit === undefined ? null : jsonOf(definition.rateLimit),
  retry: jsonOf(definition.retry),
  schemas: definition.schemas
})
export type ConnectorView = ReturnType<typeof detailView>

const make = Effect.gen(function* () {
  const { keyHash, sha256Hex } = yield* Digests
  const origin = yield* Origin

  /** Built-in connectors, with ids that are the same in every installation. */
  const builtIns = builtInConnectors.map((connector): BuiltInConnector => ({
    _tag: "BuiltIn",
    id: `ctr_0${sha256Hex(`connector|${connector.slug}`).slice(0, 25)}`,
    get definition() {
      return connector.definition()
    }
  }))

  const findOrLock = Effect.fnUntraced(function* (tx: Tx, caller: Principal, idOrSlug: string, way: "find" | "lock") {
    // Unchecked text from the request: an id of another form matches no row.
    const by = idOrSlug.startsWith("ctr_") ? { id: idOrSlug as ConnectorRecord["id"] } : { slug: idOrSlug }
    const own = yield* tx.connectors[way]({ ...by, deletedAt: null })
    const found: FoundConnector | undefined = Option.isSome(own)
      ? { _tag: "Own", record: own.value }
      : builtIns.find(({ definition, id }) => id === idOrSlug || definition.slug === idOrSlug)
    if (found === undefined) return yield* notFound()
    const { slug } = found._tag === "Own" ? found.record : found.definition
    const outside = outOfScope(caller, "connector", slug)
    return outside === undefined ? found : yield* outside
  })

  /** The OAuth redirect URI of this connector in this organisation. */
  const redirectUri = (organisation: OrganisationId, slug: string): string =>
    `${origin}${callbackPath(keyHash, organisation, slug)}`

  return {
    builtIns,
    /** By id or slug; the organisation's own connector takes precedence over a built-in one with the same slug. */
    find: (tx: Tx, caller: Principal, idOrSlug: string) => findOrLock(tx, caller, idOrSlug, "find"),
    /** The connector, locked until the transaction ends. Fails with `Conflict` for a built-in one. */
    lockOwn: (tx: Tx, caller: Principal, idOrSlug: string) =>
      Effect.flatMap(findOrLock(tx, caller, idOrSlug, "lock"), (found): Effect.Effect<ConnectorRecord, Failure> =>
        found._tag === "Own" ? Effect.succeed(found.record) : builtInRefusal(found.definition.slug)
      ),
    redirectUri,
    view: (organisation: OrganisationId, found: FoundConnector, definition: ConnectorDefinition) =>
      detailView(found, definition, {
        redirectUri: redirectUri(organisation, definition.slug),
        webhookUrls: appWebhookUrls(origin, organisation, definition)
      })
  }
})

/** Finds connectors. A key's scope names them by their slugs. */
export class ConnectorRecords extends Effect.Service<ConnectorRecords>()("svc/ConnectorRecords", { effect: make }) {}
