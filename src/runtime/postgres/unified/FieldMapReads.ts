/**
 * The port `FieldMapReads`: the published overrides of field maps, cached for less than a second, and those of a revision,
 * which never change.
 */
import { Effect, Layer, Schema } from "effect"
import { FieldMapReads, type FieldMapPin, type FieldMapQuery } from "../../../actors/ports/unified/FieldMapReads.js"
import type { Unavailable } from "../../../domain/Failure.js"
import type { MapOverride } from "../../../domain/mapping/EffectiveMap.js"
import type { OrganisationId } from "../../../domain/Ids.js"
import type { PlacedOverride } from "../../../domain/mapping/inspect/BrokenPairs.js"
import { FieldMap } from "../../../domain/mapping/FieldMap.js"
import { WriterSql } from "../database/Pools.js"
import { recordsOf } from "../database/DatabaseUnavailable.js"
import { makeReadCache, noOrganisation } from "../ReadCache.js"
import { rowDecoder } from "../record/Table.js"

const Pairs = Schema.Array(FieldMap)
const decode = rowDecoder("field_map_versions", {
  id: Schema.String,
  entity: Schema.String,
  model: Schema.String,
  customerId: Schema.NullOr(Schema.String),
  number: Schema.Number,
  fields: Pairs,
  dropped: Schema.Array(Schema.String),
  fieldsOut: Schema.NullOr(Pairs)
})

const columns = `m.id, m.entity, m.model, m.customer_id AS "customerId", v.number, v.fields, v.dropped, v.fields_out AS "fieldsOut"`
const versions = "field_maps m JOIN field_map_versions v ON v.field_map_id = m.id"
const select = `SELECT ${columns} FROM ${versions}
  WHERE m.org = $1 AND m.connector = $2 AND m.model = $3 AND (m.customer_id IS NULL OR m.customer_id = $4)`

const overrideOf = ({
  customerId,
  dropped,
  fields,
  fieldsOut,
  entity,
  id,
  model,
  number
}: ReturnType<typeof decode>): PlacedOverride => ({
  entity,
  model,
  override: {
    origin: { level: customerId === null ? "organisation" : "customer", fieldMapId: id, version: number },
    fields,
    dropped,
    fieldsOut
  }
})

const place = ({ connector, customerId, model, organisationId }: Omit<FieldMapQuery, "entity">) => [
  organisationId,
  connector,
  model,
  customerId
]

/** Publications of a customer that are kept: more than there are during most runs. */
const maxPublications = 200
/** A revision never changes; this only frees the memory of unused ones. */
const revisionMaxAgeMillis = 600_000

const decodeRevision = rowDecoder("map_publications", {
  entity: Schema.NullOr(Schema.String),
  model: Schema.NullOr(Schema.String),
  id: Schema.NullOr(Schema.String),
  number: Schema.NullOr(Schema.Number),
  connectorVersion: Schema.NullOr(Schema.String)
})
type RevisionRow = ReturnType<typeof decodeRevision>

const decodePublication = rowDecoder("map_publications", {
  id: Schema.String,
  number: Schema.NullOr(Schema.Number),
  at: Schema.Number
})
type Publication = ReturnType<typeof decodePublication>

const pinOf = (found: { readonly id: string | null; readonly number: number | null } | undefined) =>
  found === undefined || found.id === null || found.number === null ? [] : [{ id: found.id, version: found.number }]

const none: ReadonlyArray<never> = []

const ofEntity = (found: ReadonlyArray<PlacedOverride>, entity: string): ReadonlyArray<MapOverride> =>
  found.length === 0 ? none : found.filter((one) => one.entity === entity).map(({ override }) => override)

export const layer = Layer.effect(
  FieldMapReads,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const cache = yield* makeReadCache<ReadonlyArray<PlacedOverride>>()

    const rowsOf = (rows: ReturnType<typeof sql.unsafe>) =>
      Effect.map(recordsOf(rows, decode), (found) => found.map(overrideOf))
    const read = (key: string, rows: () => ReturnType<typeof sql.unsafe>) =>
      Effect.map(
        cache.get(key, () => rowsOf(rows())),
        (found = []) => found
      )

    const ofModel = (query: Omit<FieldMapQuery, "entity">) =>
      read([...place(query), "published"].join("|"), () =>
        sql.unsafe(`${select} AND v.number = m.published ORDER BY m.customer_id NULLS FIRST`, place(query))
      )

    /** What a revision has of a connector: its version, and the organisation's override of each map. */
    const revisions = yield* makeReadCache<ReadonlyArray<RevisionRow>>({
      maxAgeMillis: revisionMaxAgeMillis,
      organisationOf: noOrganisation
    })
    const ofRevision = (organisation: OrganisationId, connector: string, revision: number) =>
      Effect.map(
        revisions.get(`${organisation}|${connector}|${revision}`, () =>
          recordsOf(
            sql`SELECT DISTINCT ON (entity, model) entity, model, field_map_id AS id, number, connector_version AS "connectorVersion"
              FROM map_publications WHERE org = ${organisation} AND connector = ${connector} AND customer_id IS NULL
                AND revision <= ${revision} ORDER BY entity, model, revision DESC`,
            decodeRevision
          )
        ),
        (rows = []) => rows
      )

    const publications = yield* makeReadCache<ReadonlyArray<Publication>>()
    /** Publications of a customer's override, newest first: those until a time, or all. */
    const publicationsOf = (query: FieldMapQuery, until: number | null, limit: number) =>
      recordsOf(
        sql`SELECT field_map_id AS id, number, floor(extract(epoch FROM at) * 1000)::float8 AS at FROM map_publications
          WHERE org = ${query.organisationId} AND connector = ${query.connector} AND entity = ${query.entity}
            AND model = ${query.model} AND customer_id = ${query.customerId}
            AND (${until}::float8 IS NULL OR floor(extract(epoch FROM at) * 1000) <= ${until}::float8)
          ORDER BY revision DESC LIMIT ${limit}`,
        decodePublication
      )

    /** What was in force of a customer's override at a time; `undefined`: nothing was published before. */
    const ofCustomer = (query: FieldMapQuery, at: number): Effect.Effect<Publication | undefined, Unavailable> => {
      if (query.customerId === null) return Effect.succeed(undefined)
      const key = [...place(query), query.entity, "publications"].join("|")
      return Effect.flatMap(
        publications.get(key, () => publicationsOf(query, null, maxPublications)),
        (latest = []) => {
          const found = latest.find((one) => one.at <= at)
          return found !== undefined || latest.length < maxPublications
            ? Effect.succeed(found)
            : Effect.map(publicationsOf(query, at, 1), ([earlier]) => earlier)
        }
      )
    }

    const pinned = (query: FieldMapQuery, pins: ReadonlyArray<FieldMapPin>) =>
      Effect.map(
        read([...place(query), JSON.stringify(pins)].join("|"), () =>
          sql.unsafe(
            `${select} AND (m.id, v.number) IN (SELECT p.id, p.version FROM jsonb_to_recordset($5::jsonb) AS p (id text, version int))
             ORDER BY m.customer_id NULLS FIRST`,
            [...place(query), JSON.stringify(pins)]
          )
        ),
        (found) => ofEntity(found, query.entity)
      )

    return FieldMapReads.of({
      pinned,
      asOf: (query, { at, revision }) =>
        Effect.flatMap(ofRevision(query.organisationId, query.connector, revision), (shared) =>
          Effect.flatMap(ofCustomer(query, at), (own) => {
            const pins = [
              ...pinOf(shared.find(({ entity, model }) => entity === query.entity && model === query.model)),
              ...pinOf(own)
            ]
            return pins.length === 0
              ? Effect.succeed(none)
              : Effect.map(pinned(query, pins), (found) => (found.length < pins.length ? null : found))
          })
        ),
      connectorVersion: (organisation, connector, revision) =>
        Effect.map(
          ofRevision(organisation, connector, revision),
          (rows) => rows.find(({ entity }) => entity === null)?.connectorVersion ?? null
        ),
      ofModel,
      published: (query) => Effect.map(ofModel(query), (found) => ofEntity(found, query.entity)),
      ofConnector: (organisation, connector, after, limit) =>
        rowsOf(
          sql.unsafe(
            `SELECT ${columns} FROM ${versions}
             WHERE m.org = $1 AND m.connector = $2 AND v.number = m.published
               AND (m.customer_id IS NOT NULL, m.id) > ($3, $4)
             ORDER BY (m.customer_id IS NOT NULL), m.id LIMIT $5`,
            [
              organisation,
              connector,
              after?.override.origin.level === "customer",
              after?.override.origin.fieldMapId ?? "",
              limit
            ]
          )
        )
    })
  })
)
