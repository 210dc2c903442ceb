/**
 * Use cases that change an organisation's own connectors: save a draft, publish it as an immutable version.
 * Contract: connector record; versioning policy.
 */
import { Effect } from "effect"
import { type ConnectorRecord, extractClients } from "../../../domain/connector/ConnectorRecord.js"
import type { ConnectorDefinition } from "../../../domain/connector/Definition.js"
import { readDefinitionBody } from "../../../domain/connector/DefinitionBody.js"
import { mergePatch } from "../../../domain/connector/part/MergePatch.js"
import { type Failure, invalid, PlanLimitReached } from "../../../domain/Failure.js"
import type { ImportWarning } from "../../../domain/connector/import/OpenApiDocument.js"
import type { JsonObject } from "../../../domain/Json.js"
import { nextVersion } from "../../../domain/Record.js"
import type { Tx } from "../../ports/Records.js"
import { type CallContext, checkVersion } from "../CallContext.js"
import type { Principal } from "../Caller.js"
import { Changes } from "../Changes.js"
import { makeBrokenFieldMaps } from "./BrokenFieldMaps.js"
import {
  make as makeConnectorDrafts,
  ownConnector,
  type PublishOptions,
  type SavedConnector,
  trailOf
} from "./ConnectorDrafts.js"
import { ConnectorImport } from "./ConnectorImport.js"
import { make as makeDraftEdits } from "./DraftEdits.js"
import { ConnectorRecords, definitionOf, jsonOf } from "./ConnectorRecords.js"
import { currentTimestamp } from "../Timestamp.js"

/** Fails if the plan does not allow one more connector. Exact, because a lock serialises creations. */
const checkPlan = Effect.fnUntraced(function* (tx: Tx, { plan }: Principal): Effect.fn.Return<void, Failure> {
  const limit = plan.connectorsPerTenant
  if (limit === null) return
  yield* tx.lockKeyOfAccount("connectors_per_tenant")
  const used = yield* tx.connectors.count({ deletedAt: null })
  if (used >= limit) return yield* new PlanLimitReached({ dimension: "connectors_per_tenant", limit, used })
})

/** The definition that an import would store, as an export has it. */
export interface ConnectorPreview {
  readonly definition: JsonObject
  readonly warnings: ReadonlyArray<ImportWarning>
}

/** The answer to a dry run, which changes nothing and so has no audit entry of a change. */
const previewOf = (
  context: CallContext,
  document: ConnectorDefinition,
  { warnings = [] }: Pick<SavedConnector, "warnings">
): ConnectorPreview => {
  context.isAudited = true
  // Without the secrets of clients, as it would be stored.
  return { definition: jsonOf(extractClients(document).definition), warnings }
}

const make = Effect.gen(function* () {
  const { change, read } = yield* Changes
  const drafts = yield* makeConnectorDrafts
  const { edit } = yield* makeDraftEdits
  const imports = yield* ConnectorImport
  const records = yield* ConnectorRecords
  const findBroken = yield* makeBrokenFieldMaps

  /** The connector to be changed, at the version that the caller read. */
  const lockExpected = (tx: Tx, context: CallContext, idOrSlug: string): Effect.Effect<ConnectorRecord, Failure> =>
    Effect.tap(records.lockOwn(tx, context.caller, idOrSlug), ({ version }) =>
      checkVersion(context, undefined, version)
    )

  const create = Effect.fnUntraced(function* (context: CallContext, body: JsonObject) {
    const { caller } = context
    const { definition, isDryRun, ...report } = yield* imports.readBody(caller.organisationId, body)
    if (isDryRun) return previewOf(context, definition, report)
    const saved = yield* change(context, (tx) =>
      Effect.zipRight(checkPlan(tx, caller), drafts.insert(tx, caller, definition))
    )
    return { ...saved, ...report }
  })

  /** Changes the draft, or creates one if there is none. Also accepts the record as it was read. */
  const update = Effect.fnUntraced(function* (context: CallContext, idOrSlug: string, body: JsonObject) {
    const { caller } = context
    // Checked before the body: only a caller that may change the connector learns what is wrong with the body.
    const { view } = yield* read(context, (tx) =>
      Effect.flatMap(records.lockOwn(tx, caller, idOrSlug), (record) =>
        Effect.map(definitionOf(tx, ownConnector(record), undefined), (definition) =>
          drafts.savedOf(record, definition)
        )
      )
    )
    const document = yield* readDefinitionBody(body, jsonOf(view))
    const { definition, isDryRun, ...report } = yield* imports.readBody(caller.organisationId, document, view.slug)
    if (isDryRun) return previewOf(context, definition, report)
    const saved = yield* change(context, (tx) =>
      Effect.flatMap(lockExpected(tx, context, idOrSlug), (before) => drafts.save(tx, caller, before, definition))
    )
    return { ...saved, ...report }
  })

  /** Changes the draft, or creates one if there is none, by a merge patch of the definition. */
  const patch = (context: CallContext, idOrSlug: string, changes: JsonObject) =>
    edit(context, idOrSlug, {
      namesVersion: "version" in changes,
      changed: ({ document }) =>
        // An import would replace the definition.
        "import" in changes
          ? invalid("import", "UNKNOWN_FIELD", "is not a member of a definition: import with PUT", "UNKNOWN_FIELD")
          : Effect.succeed(mergePatch(document, changes))
    })

  /** Publishes the draft; without a draft, returns the published version. Names the overrides that the version breaks. */
  const publish = (context: CallContext, idOrSlug: string, options: PublishOptions) =>
    change(context, function* (tx) {
      const before = yield* lockExpected(tx, context, idOrSlug)
      const outcome = yield* drafts.publish(tx, context.caller, before, options)
      const { definition, previous, ...saved } = outcome.value
      const fieldMaps = yield* findBroken(context.caller.organisationId, definition, previous)
      return { ...outcome, value: { ...saved, fieldMaps } }
    })

  const remove = (context: CallContext, idOrSlug: string) =>
    change(context, function* (tx) {
      const before = yield* lockExpected(tx, context, idOrSlug)
      const now = yield* currentTimestamp
      yield* tx.connectors.update({ ...before, deletedAt: now, ...nextVersion(before, now) })
      yield* tx.authProviders.remove({ connector: before.slug })
      return { value: undefined, resource: before, before: trailOf(before), after: null }
    })

  return { create, update, patch, publish, remove }
})

/** `body`: a definition, or the import of one. `idOrSlug`: an id or a slug. */
export class ConnectorAuthoring extends Effect.Service<ConnectorAuthoring>()("svc/ConnectorAuthoring", {
  effect: make
}) {}
