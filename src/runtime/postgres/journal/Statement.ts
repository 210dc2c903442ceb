/**
 * The one statement of a flush: everything that a batch of changes writes, fenced by the epochs of its runs.
 * It is put together from the parts that the batch needs, so that a batch of runs that commit once is a plain insert;
 * each combination is one prepared statement. Rows travel as one JSON document a table: half the CPU of arrays here.
 */
import { additions, type Columns, type Table, tables } from "./Additions.js"
import type { Batch } from "./Rows.js"

const list = (columns: Columns) => Object.keys(columns).join(", ")
const recordset = (parameter: number, columns: Columns) =>
  `json_to_recordset($${parameter}::json) AS t(${Object.entries(columns)
    .map(([name, type]) => `${name} ${type}`)
    .join(", ")})`

const change = {
  id: "text",
  org: "text",
  epoch: "int",
  scope: "text",
  key: "text",
  hash: "text",
  expires_at: "timestamptz"
}

const addition = (table: Table, parameter: number): string => {
  const shape: { columns: Columns; conflict: string; select?: string } = additions[table]
  const { run, ...columns } = shape.columns
  return `${table}_in AS (INSERT INTO ${table} (${list(columns)}) SELECT ${shape.select ?? list(columns)}
    FROM ${recordset(parameter, shape.columns)} WHERE ${run === undefined ? "id" : "run"} IN (SELECT ok.id FROM ok)
    ${shape.conflict})`
}

const held = (parameter: number) =>
  `held AS MATERIALIZED (SELECT r.id, r.epoch FROM runs r WHERE r.id = ANY($${parameter}::text[])
     ORDER BY r.id FOR NO KEY UPDATE)`

// An expired claim that nobody has purged yet is free.
const taken = `taken AS (INSERT INTO claims (org, scope, key, target_id, hash, expires_at)
    SELECT org, scope, key, id, hash, expires_at FROM ch WHERE key IS NOT NULL ORDER BY org, scope, key
    ON CONFLICT (org, scope, key) DO UPDATE SET target_id = excluded.target_id, hash = excluded.hash,
      expires_at = excluded.expires_at WHERE claims.expires_at < now()
    RETURNING org, scope, key)`

const ok = (fenced: boolean, claimed: boolean) =>
  `ok AS MATERIALIZED (SELECT ch.id FROM ch
     ${fenced ? "LEFT JOIN held ON held.id = ch.id" : ""}
     ${claimed ? "LEFT JOIN taken ON taken.org = ch.org AND taken.scope = ch.scope AND taken.key = ch.key" : ""}
     WHERE ${fenced ? "(ch.epoch IS NULL OR held.epoch = ch.epoch)" : "true"}
       AND ${claimed ? "(ch.key IS NULL OR taken.key IS NOT NULL)" : "true"})`

const patched = (parameter: number) =>
  `patched AS (UPDATE runs r SET attempt = COALESCE(t.attempt, r.attempt),
     wake_at = CASE WHEN t.sets_wake THEN t.wake_at ELSE r.wake_at END,
     activations = CASE WHEN t.sets_wake THEN 0 ELSE r.activations END,
     deadline_at = COALESCE(t.deadline_at, r.deadline_at),
     waiting = CASE WHEN t.sets_waiting THEN t.waiting ELSE r.waiting END
     FROM ${recordset(parameter, {
       id: "text",
       attempt: "int",
       wake_at: "timestamptz",
       sets_wake: "boolean",
       deadline_at: "timestamptz",
       waiting: "json",
       sets_waiting: "boolean"
     })} WHERE r.id = t.id AND r.id IN (SELECT ok.id FROM ok))`

const ended = (parameter: number) =>
  `ended AS (DELETE FROM runs r WHERE r.id = ANY($${parameter}::text[]) AND r.id IN (SELECT ok.id FROM ok))`

const dequeued = (parameter: number) =>
  `dequeued AS (DELETE FROM outbox o WHERE o.id = ANY($${parameter}::text[]) AND o.id IN (SELECT ok.id FROM ok))`

export interface Statement {
  readonly name: string
  readonly text: string
  readonly values: ReadonlyArray<unknown>
}

const texts = new Map<string, string>()

/** The statement that writes the batch; its rows are the ids of the changes that were not accepted. */
export const statement = (batch: Batch): Statement => {
  const present = tables.filter((table) => batch.rows[table].length > 0)
  const fenced = batch.fenced.length > 0
  const parts = [
    fenced ? "f" : "",
    batch.claimed ? "c" : "",
    batch.patches.length > 0 ? "p" : "",
    batch.ended.length > 0 ? "e" : "",
    batch.dequeued.length > 0 ? "d" : "",
    ...present.map((table) => `.${table}`)
  ].join("")
  const values: Array<unknown> = [JSON.stringify(batch.changes)]
  const parameter = (value: unknown) => values.push(value)
  const ctes = [`ch AS MATERIALIZED (SELECT * FROM ${recordset(1, change)})`]
  if (fenced) ctes.push(held(parameter(batch.fenced)))
  if (batch.claimed) ctes.push(taken)
  ctes.push(ok(fenced, batch.claimed))
  if (batch.patches.length > 0) ctes.push(patched(parameter(JSON.stringify(batch.patches))))
  for (const table of present) ctes.push(addition(table, parameter(`[${batch.rows[table].join(",")}]`)))
  if (batch.ended.length > 0) ctes.push(ended(parameter(batch.ended)))
  if (batch.dequeued.length > 0) ctes.push(dequeued(parameter(batch.dequeued)))
  const name = `svc_${parts}`
  let text = texts.get(name)
  if (text === undefined) {
    text = `WITH ${ctes.join(",\n")}\nSELECT ch.id FROM ch WHERE ch.id NOT IN (SELECT ok.id FROM ok)`
    texts.set(name, text)
  }
  return { name: name.length > 60 ? `svc_${hash(name)}` : name, text, values }
}

/** A short name for a long one: Postgres cuts names at 63 bytes. */
const hash = (text: string): string => {
  let h = 5381n
  for (const letter of text) h = ((h * 33n) ^ BigInt(letter.charCodeAt(0))) & 0xffffffffffffffffn
  return h.toString(36)
}
