/** The versions of connectors' actions, in the caller's transaction. */
import { Effect, Option, Schema } from "effect"
import type { ActionHistory } from "../../../actors/ports/connection/ActionHistory.js"
import { AnsweredTime } from "../../../domain/Time.js"
import type { Sql } from "../database/Sql.js"
import { readError } from "../record/RecordErrors.js"
import { rowDecoder } from "../record/Table.js"

const decodeVersion = rowDecoder("connector_versions", {
  version: Schema.Number,
  connectorVersion: Schema.String,
  publishedAt: Schema.NullOr(AnsweredTime)
})
const decodeNumber = rowDecoder("connector_versions", { number: Schema.Number })

/** Versions are compared as texts where a client has sent one, which may be no integer of Postgres. */
export const makeActionHistory = (sql: Sql): ActionHistory => ({
  actionVersions: ({ before, connectorId, limit, name }) =>
    sql`SELECT DISTINCT ON (version) version, semver AS "connectorVersion", published_at AS "publishedAt"
      FROM (SELECT number, semver, published_at, (actions ->> ${name})::float8 AS version
        FROM connector_versions WHERE connector_id = ${connectorId}) AS of_action
      WHERE version < ${before ?? null}::float8 OR (${before === undefined} AND version IS NOT NULL)
      ORDER BY version DESC, number LIMIT ${limit}`.pipe(
      Effect.map((rows) => rows.map(decodeVersion)),
      Effect.catchAll(readError)
    ),
  findActionVersion: (connectorId, { name, version }) =>
    sql`SELECT number FROM connector_versions
      WHERE connector_id = ${connectorId} AND actions ->> ${name} = ${String(version)} ORDER BY number DESC LIMIT 1`.pipe(
      Effect.map(([row]) => (row === undefined ? Option.none() : Option.some(decodeNumber(row).number))),
      Effect.catchAll(readError)
    )
})
