/**
 * The statement of a flush: writes everything of a batch of changes, fenced by the epochs of its runs. It contains only
 * the parts that the batch needs, and each combination of parts is one prepared statement. Each table's rows are one
 * JSON parameter, which costs half the CPU of array parameters.
 */
import { flushTables, type ColumnTypes, type FlushTableName, flushTableNames } from "./FlushTables.js"
import { selectOwned } from "./Fence.js"
import type { Batch } from "./Batch.js"
import { patchAssignments, patchColumns } from "./RunColumns.js"

const listColumns = (columns: ColumnTypes) => Object.keys(columns).join(", ")
const recordset = (parameter: number, columns: ColumnTypes) =>
  `json_to_recordset($${parameter}::json) AS t(${Object.entries(columns)
    .map(([name, type]) => `${name} ${type}`)
    .join(", ")})`

const changeColumns = {
  id: "text",
  org: "text",
  fenced: "boolean",
  scope: "text",
  key: "text",
  hash: "text",
  expires_at: "timestamptz"
}

/** Inserts the rows of a table from the JSON document in a parameter. */
export const insertRows = (table: FlushTableName, parameter: number): string => {
  const shape: { readonly columns: ColumnTypes; readonly values?: string } = flushTables[table]
  const { run: _run, ...columns } = shape.columns
  return `INSERT INTO ${table} (${listColumns(columns)}) SELECT ${shape.values ?? listColumns(columns)}
    FROM ${recordset(parameter, shape.columns)}`
}

const insertCte = (table: FlushTableName, parameter: number): string => {
  const { columns, conflict }: { readonly columns: ColumnTypes; readonly conflict: string } = flushTables[table]
  return `${table}_in AS (${insertRows(table, parameter)}
    WHERE ${columns["run"] === undefined ? "id" : "run"} IN (SELECT ok.id FROM ok) ${conflict})`
}

// A claim that has expired is free, even if it is not yet purged.
const claimsCte = `taken AS (INSERT INTO claims (org, scope, key, target_id, hash, expires_at)
    SELECT org, scope, key, id, hash, expires_at FROM ch WHERE key IS NOT NULL ORDER BY org, scope, key
    ON CONFLICT (org, scope, key) DO UPDATE SET target_id = excluded.target_id, hash = excluded.hash,
      expires_at = excluded.expires_at WHERE claims.expires_at < now()
    RETURNING org, scope, key)`

const acceptedCte = (fenced: boolean, claimed: boolean) =>
  `ok AS MATERIALIZED (SELECT ch.id FROM ch
     ${fenced ? "LEFT JOIN owned ON owned.id = ch.id" : ""}
     ${claimed ? "LEFT JOIN taken ON taken.org = ch.org AND taken.scope = ch.scope AND taken.key = ch.key" : ""}
     WHERE ${fenced ? "(NOT ch.fenced OR owned.id IS NOT NULL)" : "true"}
       AND ${claimed ? "(ch.key IS NULL OR taken.key IS NOT NULL)" : "true"})`

const patchCte = (parameter: number) =>
  `patched AS (UPDATE runs r SET ${patchAssignments("r", "t")}
     FROM ${recordset(parameter, patchColumns)} WHERE r.id = t.id AND r.id IN (SELECT ok.id FROM ok))`

const deleteEndedCte = (parameter: number) =>
  `ended AS (DELETE FROM runs r WHERE r.id = ANY($${parameter}::text[]) AND r.id IN (SELECT ok.id FROM ok))`

const dequeueCte = (parameter: number) =>
  `dequeued AS (DELETE FROM start_queue o WHERE o.id = ANY($${parameter}::text[]) AND o.id IN (SELECT ok.id FROM ok))`

export interface Statement {
  readonly name: string
  readonly text: string
  readonly values: ReadonlyArray<unknown>
}

/** What a batch contains: decides the text of its statement. */
interface Parts {
  readonly fenced: boolean
  readonly claimed: boolean
  readonly patched: boolean
  readonly ended: boolean
  readonly dequeued: boolean
  readonly tables: ReadonlyArray<FlushTableName>
}

const partsOf = (batch: Batch): Parts => ({
  fenced: batch.fence.ids.length > 0,
  claimed: batch.hasClaims,
  patched: batch.patches.length > 0,
  ended: batch.endedRuns.length > 0,
  dequeued: batch.dequeuedRuns.length > 0,
  tables: flushTableNames.filter((table) => batch.rows[table].length > 0)
})

const keyOf = (parts: Parts): string =>
  [
    parts.fenced ? "f" : "",
    parts.claimed ? "c" : "",
    parts.patched ? "p" : "",
    parts.ended ? "e" : "",
    parts.dequeued ? "d" : "",
    ...parts.tables.map((table) => `.${table}`)
  ].join("")

/** Parameters are numbered in the order in which `valuesOf` gives their values. */
const textOf = (parts: Parts): string => {
  let last = 1
  const next = () => (last += 1)
  const ctes = [`ch AS MATERIALIZED (SELECT * FROM ${recordset(1, changeColumns)})`]
  if (parts.fenced) ctes.push(`owned AS MATERIALIZED (${selectOwned(`$${next()}`, `$${next()}`)})`)
  if (parts.claimed) ctes.push(claimsCte)
  ctes.push(acceptedCte(parts.fenced, parts.claimed))
  if (parts.patched) ctes.push(patchCte(next()))
  for (const table of parts.tables) ctes.push(insertCte(table, next()))
  if (parts.ended) ctes.push(deleteEndedCte(next()))
  if (parts.dequeued) ctes.push(dequeueCte(next()))
  return `WITH ${ctes.join(",\n")}\nSELECT ch.id FROM ch WHERE ch.id NOT IN (SELECT ok.id FROM ok)`
}

const valuesOf = (batch: Batch, parts: Parts): ReadonlyArray<unknown> => [
  JSON.stringify(batch.changes),
  ...(parts.fenced ? [batch.fence.ids, batch.fence.epochs] : []),
  ...(parts.patched ? [JSON.stringify(batch.patches)] : []),
  ...parts.tables.map((table) => `[${batch.rows[table].join(",")}]`),
  ...(parts.ended ? [batch.endedRuns] : []),
  ...(parts.dequeued ? [batch.dequeuedRuns] : [])
]

/**
 * Returns a function that makes the statement of a batch; it caches the text of each combination of parts. The
 * statement returns the ids of the changes that were not applied.
 */
export const makeStatements = (): ((batch: Batch) => Statement) => {
  const statements = new Map<string, { readonly name: string; readonly text: string }>()
  return (batch) => {
    const parts = partsOf(batch)
    const key = keyOf(parts)
    let found = statements.get(key)
    if (found === undefined) {
      const name = `svc_${key}`
      found = { name: name.length > 60 ? `svc_${hash(name)}` : name, text: textOf(parts) }
      statements.set(key, found)
    }
    return { ...found, values: valuesOf(batch, parts) }
  }
}

/** Shortens a statement's name: Postgres truncates names to 63 bytes. */
const hash = (text: string): string => {
  let h = 5381n
  for (const letter of text) h = ((h * 33n) ^ BigInt(letter.charCodeAt(0))) & 0xffffffffffffffffn
  return h.toString(36)
}
