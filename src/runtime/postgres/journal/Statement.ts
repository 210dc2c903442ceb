/**
 * The one statement of a flush: everything that a batch of changes writes, fenced by the epochs of its runs.
 * It is put together from the parts that the batch needs, so that a batch of runs that commit once is a plain insert;
 * each combination is one prepared statement. Rows travel as one JSON document a table: half the CPU of arrays here.
 */
import { additions, type Columns, type FlushedTable, tables } from "./Additions.js"
import { selectOwned } from "./Fence.js"
import type { Batch } from "./Rows.js"
import { patchAssignments, patchColumns } from "./RunColumns.js"

const list = (columns: Columns) => Object.keys(columns).join(", ")
const recordset = (parameter: number, columns: Columns) =>
  `json_to_recordset($${parameter}::json) AS t(${Object.entries(columns)
    .map(([name, type]) => `${name} ${type}`)
    .join(", ")})`

const change = {
  id: "text",
  org: "text",
  fenced: "boolean",
  scope: "text",
  key: "text",
  hash: "text",
  expires_at: "timestamptz"
}

/** Inserts the rows of a table from the JSON document in a parameter. */
export const insertRows = (table: FlushedTable, parameter: number): string => {
  const shape: { readonly columns: Columns; readonly values?: string } = additions[table]
  const { run: _run, ...columns } = shape.columns
  return `INSERT INTO ${table} (${list(columns)}) SELECT ${shape.values ?? list(columns)}
    FROM ${recordset(parameter, shape.columns)}`
}

const addition = (table: FlushedTable, parameter: number): string => {
  const { columns, conflict }: { readonly columns: Columns; readonly conflict: string } = additions[table]
  return `${table}_in AS (${insertRows(table, parameter)}
    WHERE ${columns["run"] === undefined ? "id" : "run"} IN (SELECT ok.id FROM ok) ${conflict})`
}

// An expired claim that nobody has purged yet is free.
const taken = `taken AS (INSERT INTO claims (org, scope, key, target_id, hash, expires_at)
    SELECT org, scope, key, id, hash, expires_at FROM ch WHERE key IS NOT NULL ORDER BY org, scope, key
    ON CONFLICT (org, scope, key) DO UPDATE SET target_id = excluded.target_id, hash = excluded.hash,
      expires_at = excluded.expires_at WHERE claims.expires_at < now()
    RETURNING org, scope, key)`

const ok = (fenced: boolean, claimed: boolean) =>
  `ok AS MATERIALIZED (SELECT ch.id FROM ch
     ${fenced ? "LEFT JOIN owned ON owned.id = ch.id" : ""}
     ${claimed ? "LEFT JOIN taken ON taken.org = ch.org AND taken.scope = ch.scope AND taken.key = ch.key" : ""}
     WHERE ${fenced ? "(NOT ch.fenced OR owned.id IS NOT NULL)" : "true"}
       AND ${claimed ? "(ch.key IS NULL OR taken.key IS NOT NULL)" : "true"})`

const patched = (parameter: number) =>
  `patched AS (UPDATE runs r SET ${patchAssignments("r", "t")}
     FROM ${recordset(parameter, patchColumns)} WHERE r.id = t.id AND r.id IN (SELECT ok.id FROM ok))`

const ended = (parameter: number) =>
  `ended AS (DELETE FROM runs r WHERE r.id = ANY($${parameter}::text[]) AND r.id IN (SELECT ok.id FROM ok))`

const dequeued = (parameter: number) =>
  `dequeued AS (DELETE FROM outbox o WHERE o.id = ANY($${parameter}::text[]) AND o.id IN (SELECT ok.id FROM ok))`

export interface Statement {
  readonly name: string
  readonly text: string
  readonly values: ReadonlyArray<unknown>
}

/** What a batch has, which decides the text of its statement. */
interface Parts {
  readonly fenced: boolean
  readonly claimed: boolean
  readonly patched: boolean
  readonly ended: boolean
  readonly dequeued: boolean
  readonly tables: ReadonlyArray<FlushedTable>
}

const partsOf = (batch: Batch): Parts => ({
  fenced: batch.owned.ids.length > 0,
  claimed: batch.claimed,
  patched: batch.patches.length > 0,
  ended: batch.ended.length > 0,
  dequeued: batch.dequeued.length > 0,
  tables: tables.filter((table) => batch.rows[table].length > 0)
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
  const ctes = [`ch AS MATERIALIZED (SELECT * FROM ${recordset(1, change)})`]
  if (parts.fenced) ctes.push(`owned AS MATERIALIZED (${selectOwned(`$${next()}`, `$${next()}`)})`)
  if (parts.claimed) ctes.push(taken)
  ctes.push(ok(parts.fenced, parts.claimed))
  if (parts.patched) ctes.push(patched(next()))
  for (const table of parts.tables) ctes.push(addition(table, next()))
  if (parts.ended) ctes.push(ended(next()))
  if (parts.dequeued) ctes.push(dequeued(next()))
  return `WITH ${ctes.join(",\n")}\nSELECT ch.id FROM ch WHERE ch.id NOT IN (SELECT ok.id FROM ok)`
}

const valuesOf = (batch: Batch, parts: Parts): ReadonlyArray<unknown> => [
  JSON.stringify(batch.changes),
  ...(parts.fenced ? [batch.owned.ids, batch.owned.epochs] : []),
  ...(parts.patched ? [JSON.stringify(batch.patches)] : []),
  ...parts.tables.map((table) => `[${batch.rows[table].join(",")}]`),
  ...(parts.ended ? [batch.ended] : []),
  ...(parts.dequeued ? [batch.dequeued] : [])
]

/**
 * Makes the statements of a writer. The statement of a batch returns the ids of the changes that were not accepted. The
 * text of each combination of parts is built once.
 */
export const makeStatements = (): ((batch: Batch) => Statement) => {
  const built = new Map<string, { readonly name: string; readonly text: string }>()
  return (batch) => {
    const parts = partsOf(batch)
    const key = keyOf(parts)
    let found = built.get(key)
    if (found === undefined) {
      const name = `svc_${key}`
      found = { name: name.length > 60 ? `svc_${hash(name)}` : name, text: textOf(parts) }
      built.set(key, found)
    }
    return { ...found, values: valuesOf(batch, parts) }
  }
}

/** A short name for a long one: Postgres cuts names at 63 bytes. */
const hash = (text: string): string => {
  let h = 5381n
  for (const letter of text) h = ((h * 33n) ^ BigInt(letter.charCodeAt(0))) & 0xffffffffffffffffn
  return h.toString(36)
}
