/**
 * Changes a connector's draft by less than the whole of it: reads the current definition, changes and validates it, and saves
 * it unless the connector has changed in between. Contract: connector record; versioning policy.
 */
import { Effect } from "effect"
import type { ConnectorDefinition } from "../../../domain/connector/Definition.js"
import { type Failure, refuseWith, versionMismatch } from "../../../domain/Failure.js"
import type { JsonObject } from "../../../domain/Json.js"
import type { Tx } from "../../ports/Records.js"
import { type CallContext, checkVersion } from "../CallContext.js"
import { Changes } from "../Changes.js"
import { make as makeConnectorDrafts, ownConnector, type SavedConnector } from "./ConnectorDrafts.js"
import { ConnectorImport } from "./ConnectorImport.js"
import { ConnectorRecords, definitionOf, jsonOf } from "./ConnectorRecords.js"
import type { ConnectorRecord } from "../../../domain/connector/ConnectorRecord.js"

/** The connector and its current definition, as the change is made to it. */
export interface DraftSource {
  readonly tx: Tx
  readonly record: ConnectorRecord
  readonly document: JsonObject
}

/** A change of a definition. */
export interface DraftEdit {
  /** Makes the changed definition, which is validated afterwards. */
  readonly changed: (source: DraftSource) => Effect.Effect<JsonObject, Failure>
  /** Refuses a changed definition that is valid. `published`: the newest published one. */
  readonly refusal?: (
    definition: ConnectorDefinition,
    published: ConnectorDefinition | undefined
  ) => Failure | undefined
  /** Whether the request names the version of the draft; else it is raised to the one that the change needs. */
  readonly namesVersion?: boolean
  /** The part of the definition that is changed, for the audit trail. */
  readonly part?: string
}

export const make = Effect.gen(function* () {
  const { change, read } = yield* Changes
  const drafts = yield* makeConnectorDrafts
  const imports = yield* ConnectorImport
  const records = yield* ConnectorRecords

  /** Fails with `Conflict` if the connector changes between reading and saving it: the caller reads it again. */
  const edit = Effect.fnUntraced(function* (
    context: CallContext,
    idOrSlug: string,
    { changed, namesVersion = false, part, refusal }: DraftEdit
  ): Effect.fn.Return<SavedConnector, Failure> {
    const { caller } = context
    const { current, document, record } = yield* read(context, function* (tx) {
      const record = yield* records.lockOwn(tx, caller, idOrSlug)
      yield* checkVersion(context, undefined, record.version)
      const current = yield* definitionOf(tx, ownConnector(record), undefined)
      return { current, document: yield* changed({ tx, record, document: jsonOf(current) }), record }
    })
    const { definition } = yield* imports.readBody(caller.organisationId, document, record.slug)
    return yield* change(context, function* (tx) {
      const before = yield* records.lockOwn(tx, caller, idOrSlug)
      if (before.id !== record.id || before.version !== record.version) return yield* versionMismatch()
      yield* refuseWith(refusal?.(definition, yield* drafts.findPublished(tx, before)))
      const outcome = yield* drafts.save(tx, caller, before, definition, { current, isRaised: !namesVersion })
      const { after, before: trail } = outcome
      return part === undefined ? outcome : { ...outcome, before: { ...trail, part: null }, after: { ...after, part } }
    })
  })

  return { edit }
})
