/** Extends the log of what is in force of an organisation's field maps and connectors. Decisions: 0061. */
import { Effect } from "effect"
import type { Failure } from "../../../domain/Failure.js"
import type { OrganisationId } from "../../../domain/Ids.js"
import type { FieldMapOverride } from "../../../domain/mapping/FieldMapRecord.js"
import type { MapPublication } from "../../../domain/mapping/MapPublication.js"
import type { AlreadyExists, Tx } from "../../ports/Records.js"

/** The last revision that is committed; 0: nothing was ever published. */
export const currentRevision = (tx: Tx): Effect.Effect<number, Failure> =>
  Effect.map(tx.mapPublications.list({ where: {}, limit: 1 }), ([last]) => last?.revision ?? 0)

/** The lock is held until the commit, so that revisions are committed in their order. */
const note = (tx: Tx, publication: Omit<MapPublication, "revision">): Effect.Effect<void, Failure | AlreadyExists> =>
  Effect.gen(function* () {
    yield* tx.lockKey("map_publications")
    yield* tx.mapPublications.insert({ ...publication, revision: (yield* currentRevision(tx)) + 1 })
  })

/** Notes that a version of an override is in force; null: none is, since the override is deleted. */
export const noteFieldMap = (
  tx: Tx,
  { connector, customerId, entity, id, model, organisationId }: FieldMapOverride,
  number: number | null,
  at: string
) =>
  note(tx, {
    organisationId,
    connector,
    entity,
    model,
    customerId,
    fieldMapId: id,
    number,
    connectorVersion: null,
    at
  })

/** Notes that a version of a connector is the newest one. */
export const noteConnector = (
  tx: Tx,
  organisationId: OrganisationId,
  { connector, version }: { readonly connector: string; readonly version: string },
  at: string
) =>
  note(tx, {
    organisationId,
    connector,
    entity: null,
    model: null,
    customerId: null,
    fieldMapId: null,
    number: null,
    connectorVersion: version,
    at
  })
