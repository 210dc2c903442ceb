/**
 * Tells which hashes may be those of credentials, by the prefixes of all of them, read at most once a second: asked only while
 * some address sends many unknown credentials, whose look-ups would cost as much as the sender chooses.
 */
import { Effect, Schema } from "effect"
import { databaseUnavailable } from "../database/DatabaseUnavailable.js"
import type { Sql } from "../database/Sql.js"
import { makeReadCache, noOrganisation } from "../ReadCache.js"
import { rowDecoder } from "../record/Table.js"

const prefixLength = 10
const maxAgeMillis = 1_000
/** With more of them nothing is filtered. */
const maxPrefixes = 50_000

/** `hashes`: the columns of hashes, which may be null, with their table. */
export const makeHashPrefixes = Effect.fnUntraced(function* (sql: Sql, table: string, hashes: ReadonlyArray<string>) {
  const decode = rowDecoder(table, { begin: Schema.String })
  const selections = hashes.map(
    (column) => `SELECT left(${column}, ${prefixLength}) AS begin FROM ${table} WHERE ${column} IS NOT NULL`
  )
  const load = sql.unsafe(`${selections.join(" UNION ")} LIMIT ${maxPrefixes + 1}`).pipe(
    Effect.map((rows) =>
      rows.length > maxPrefixes ? ("too many" as const) : new Set(rows.map((row) => decode(row).begin))
    ),
    Effect.mapError(databaseUnavailable)
  )
  const cache = yield* makeReadCache<ReadonlySet<string> | "too many">({
    maxAgeMillis,
    maxEntries: 1,
    organisationOf: noOrganisation
  })
  /** Whether a credential may have this hash. `false`: there is none. */
  return (hash: string) =>
    Effect.map(
      cache.get("all", () => load),
      (found) => found === undefined || found === "too many" || found.has(hash.slice(0, prefixLength))
    )
})
