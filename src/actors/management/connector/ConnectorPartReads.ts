/** Use cases that read a connector's actions with their versions, auth methods, webhooks and events, in pages. */
import { Effect, Option, Schema } from "effect"
import { readStoredDefinition } from "../../../domain/connector/ConnectorRecord.js"
import { isReadOnly } from "../../../domain/connector/ConnectorOffer.js"
import { type ConnectorDefinition, findAction } from "../../../domain/connector/Definition.js"
import { actionPart, findPart, webhookPart } from "../../../domain/connector/part/DefinitionPart.js"
import { builtInFor } from "../../../domain/connectors/index.js"
import { type Failure, NotFound } from "../../../domain/Failure.js"
import type { JsonObject } from "../../../domain/Json.js"
import type { ActionVersion } from "../../ports/connection/ActionHistory.js"
import type { Tx } from "../../ports/Records.js"
import type { CallContext } from "../CallContext.js"
import { Changes } from "../Changes.js"
import { optionalText, PageSize, Pages, sizeOf } from "../Pages.js"
import {
  type BuiltInConnector,
  builtInSince,
  ConnectorRecords,
  definitionOf,
  type FoundConnector,
  jsonOf,
  type OwnConnector
} from "./ConnectorRecords.js"

/** What was read of a connector. `revision`: counts its changes; `null` for a built-in one. */
export interface PartRead<A> {
  readonly value: A
  readonly revision: number | null
}

/** A page of a definition's parts, which are in the definition's order. */
export const PartList = Schema.Struct({ page_size: Schema.optional(PageSize), cursor: optionalText })
type PartList = typeof PartList.Type

const versionNotFound = () => new NotFound({ what: "version of this action" })

const actionSummary = (action: ConnectorDefinition["actions"][number]) => ({
  name: action.name,
  version: action.version,
  title: action.title ?? action.name,
  description: action.description ?? null,
  readOnly: isReadOnly(action)
})

const eventView = (event: ConnectorDefinition["events"][number]) => ({
  id: event.id,
  title: event.title ?? event.id,
  description: event.description ?? null,
  delivery: event.delivery,
  entity: event.entity ?? null,
  webhook: event.webhook ?? null,
  payloadSchema: event.payloadSchema
})

/** All forms of a built-in connector's action that this release has, the newest first. */
const builtInForms = ({ definition }: BuiltInConnector, name: string) =>
  [...definition.actions, ...(builtInFor(definition.slug)?.previous() ?? [])]
    .filter((action) => action.name === name)
    .sort((a, b) => b.version - a.version)

/** A version of an action of an organisation's own connector: the form in the newest definition that has it. */
const ownForm = Effect.fnUntraced(function* (
  tx: Tx,
  { record }: OwnConnector,
  name: string,
  version: number
): Effect.fn.Return<ConnectorDefinition["actions"][number] | undefined, Failure> {
  const number = yield* tx.findActionVersion(record.id, { name, version })
  if (Option.isNone(number)) return undefined
  const row = yield* tx.connectorVersions.find({ connectorId: record.id, number: number.value })
  return Option.isNone(row) ? undefined : findAction(yield* readStoredDefinition(row.value), name)
})

const make = Effect.gen(function* () {
  const { read } = yield* Changes
  const pages = yield* Pages
  const records = yield* ConnectorRecords

  const withDefinition = <A>(
    context: CallContext,
    idOrSlug: string,
    use: (definition: ConnectorDefinition, found: FoundConnector, tx: Tx) => Effect.Effect<A, Failure>
  ): Effect.Effect<PartRead<A>, Failure> =>
    read(context, function* (tx) {
      const found = yield* records.find(tx, context.caller, idOrSlug)
      const value = yield* use(yield* definitionOf(tx, found, undefined), found, tx)
      return { value, revision: found._tag === "Own" ? found.record.version : null }
    })

  /** A page of parts. A cursor names the last part of its page, and its place, from which a page goes on if it is gone. */
  const pageOf = Effect.fnUntraced(function* <A>(parts: ReadonlyArray<A>, keyOf: (part: A) => string, query: PartList) {
    const size = sizeOf(query)
    const position = yield* pages.position(query.cursor)
    const at = position === undefined ? -1 : parts.findIndex((part) => keyOf(part) === position.id)
    const start = at >= 0 ? at + 1 : Number(position?.createdAt ?? 0) || 0
    return yield* pages.pageOf(parts.slice(start, start + size + 1), size, (part) => ({
      createdAt: String(parts.indexOf(part)),
      id: keyOf(part)
    }))
  })

  /** Lists what `select` takes from the current definition. */
  const listOf =
    <A, View>(
      select: (definition: ConnectorDefinition) => ReadonlyArray<A>,
      keyOf: (part: A) => string,
      viewOf: (part: A) => View
    ) =>
    (context: CallContext, idOrSlug: string, query: PartList) =>
      withDefinition(context, idOrSlug, (definition) =>
        Effect.map(pageOf(select(definition), keyOf, query), (page) => ({ ...page, data: page.data.map(viewOf) }))
      )

  /** The action as the current definition has it, or a version of it. */
  const getAction = (context: CallContext, idOrSlug: string, name: string, version: number | undefined) =>
    withDefinition(context, idOrSlug, (definition, found, tx): Effect.Effect<JsonObject, Failure> => {
      const current = findPart(jsonOf(definition), actionPart, name)
      if (version === undefined) return current
      const form =
        found._tag === "BuiltIn"
          ? Effect.succeed(builtInForms(found, name).find((one) => one.version === version))
          : ownForm(tx, found, name, version)
      return Effect.flatMap(form, (one) =>
        one === undefined ? Effect.zipRight(current, versionNotFound()) : Effect.succeed(jsonOf(one))
      )
    })

  const getWebhook = (context: CallContext, idOrSlug: string, id: string) =>
    withDefinition(context, idOrSlug, (definition) => findPart(jsonOf(definition), webhookPart, id))

  /** Of a built-in connector, only the version of this release is known. */
  const builtInVersions = (found: BuiltInConnector, name: string, before: number | undefined) =>
    builtInForms(found, name)
      .filter(({ version }) => before === undefined || version < before)
      .map((action) => ({
        version: action.version,
        connectorVersion: found.definition.actions.includes(action) ? found.definition.version : null,
        publishedAt: builtInSince
      }))

  /** The versions of an action, newest first, also of one that the current definition does not have any more. */
  const listVersions = (context: CallContext, idOrSlug: string, name: string, query: PartList) =>
    withDefinition(context, idOrSlug, (definition, found, tx) =>
      Effect.gen(function* () {
        const size = sizeOf(query)
        const position = yield* pages.position(query.cursor)
        const last = Number(position?.id)
        const before = position === undefined || !Number.isFinite(last) ? undefined : last
        const rows: ReadonlyArray<Omit<ActionVersion, "connectorVersion"> & { connectorVersion: string | null }> =
          found._tag === "BuiltIn"
            ? builtInVersions(found, name, before).slice(0, size + 1)
            : yield* tx.actionVersions({
                connectorId: found.record.id,
                name,
                limit: size + 1,
                ...(before === undefined ? {} : { before })
              })
        if (rows.length === 0 && before === undefined) yield* findPart(jsonOf(definition), actionPart, name)
        return yield* pages.pageOf(rows, size, ({ version }) => ({ createdAt: "", id: String(version) }))
      })
    )

  return {
    listActions: listOf(
      ({ actions }) => actions,
      ({ name }) => name,
      actionSummary
    ),
    getAction,
    listVersions,
    listAuthMethods: listOf(
      ({ auth }) => auth,
      ({ id }) => id,
      jsonOf
    ),
    listWebhooks: listOf(
      ({ webhooks }) => webhooks,
      ({ id }) => id,
      jsonOf
    ),
    getWebhook,
    listEvents: listOf(
      ({ events }) => events,
      ({ id }) => id,
      eventView
    )
  }
})

/** `idOrSlug`: of the connector. They read its draft, or its newest version without one. */
export class ConnectorPartReads extends Effect.Service<ConnectorPartReads>()("svc/ConnectorPartReads", {
  effect: make
}) {}
