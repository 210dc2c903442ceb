/** The connectors that an embed session offers: published ones within its scope. Contract: embed. */
import { Effect } from "effect"
import { embeddedConnector, embeddedSummary } from "../../../domain/connector/EmbeddedConnector.js"
import { NotFound } from "../../../domain/Failure.js"
import type { CallContext } from "../CallContext.js"
import { Changes } from "../Changes.js"
import { make as makeConnectorPages } from "../connector/ConnectorPages.js"
import { ConnectorRecords, definitionOf } from "../connector/ConnectorRecords.js"
import { listQuery } from "../Pages.js"

export const EmbeddedConnectorList = listQuery({})
type EmbeddedConnectorList = typeof EmbeddedConnectorList.Type

const make = Effect.gen(function* () {
  const { read } = yield* Changes
  const records = yield* ConnectorRecords
  const pages = yield* makeConnectorPages

  /** Newest first; a page may have fewer than its size, since drafts are left out of it. */
  const list = (context: CallContext, params: EmbeddedConnectorList) =>
    Effect.map(pages.list(context, params), ({ data, page }) => ({
      data: data.filter(({ latestVersion }) => latestVersion !== null).map((one) => embeddedSummary(one)),
      page
    }))

  const get = (context: CallContext, idOrSlug: string) =>
    read(context, function* (tx) {
      const found = yield* records.find(tx, context.caller, idOrSlug)
      const version = found._tag === "Own" ? found.record.latestVersion : found.definition.version
      if (version === null) return yield* new NotFound({ what: "connector" })
      return embeddedConnector(yield* definitionOf(tx, found, version))
    })

  return { list, get }
})

export class EmbeddedConnectors extends Effect.Service<EmbeddedConnectors>()("svc/EmbeddedConnectors", {
  effect: make
}) {}
