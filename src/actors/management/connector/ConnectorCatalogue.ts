/** Use cases that read the organisation's own and the built-in connectors. */
import { Effect } from "effect"
import type { CallContext } from "../CallContext.js"
import { Changes } from "../Changes.js"
import { make as makeConnectorPages } from "./ConnectorPages.js"
import { ConnectorRecords, definitionOf } from "./ConnectorRecords.js"

const make = Effect.gen(function* () {
  const { read } = yield* Changes
  const records = yield* ConnectorRecords
  const { list } = yield* makeConnectorPages

  const get = (context: CallContext, idOrSlug: string, version: string | undefined) =>
    read(context, function* (tx) {
      const found = yield* records.find(tx, context.caller, idOrSlug)
      const definition = yield* definitionOf(tx, found, version)
      return {
        view: records.view(context.caller.organisationId, found, definition),
        revision: found._tag === "Own" ? found.record.version : null
      }
    })

  const definition = (context: CallContext, idOrSlug: string, version: string | undefined) =>
    read(context, (tx) =>
      Effect.flatMap(records.find(tx, context.caller, idOrSlug), (found) => definitionOf(tx, found, version))
    )

  return { list, get, definition }
})

/** `idOrSlug`: an id or a slug. `version`: a published one; absent: the draft, or the newest version without one. */
export class ConnectorCatalogue extends Effect.Service<ConnectorCatalogue>()("svc/ConnectorCatalogue", {
  effect: make
}) {}
