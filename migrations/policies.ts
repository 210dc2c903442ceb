/**
 * The second barrier between tenants: row-level security on every table that has rows of tenants. The request role sees
 * the rows of the organisation that the setting `svc.org` of its transaction names, and none without it. The writer
 * sees all rows of the tables that its work needs.
 */
import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

interface Access {
  /** Statements that the request role may run, on rows of its organisation. */
  readonly app: string
  /** Statements that the writer may run, on rows of all organisations. Empty: none. */
  readonly writer?: string
  /** The column that names the organisation. */
  readonly column?: string
}

export const tenantTable = (table: string, { app, writer = "", column = "org" }: Access) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql.unsafe(`ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY`)
    yield* sql.unsafe(
      `CREATE POLICY ${table}_app ON ${table} FOR ALL TO svc_app
         USING (${column} = current_setting('svc.org', true)) WITH CHECK (${column} = current_setting('svc.org', true))`
    )
    if (app !== "") yield* sql.unsafe(`GRANT ${app} ON ${table} TO svc_app`)
    if (writer !== "") {
      yield* sql.unsafe(
        `CREATE POLICY ${table}_writer ON ${table} FOR ALL TO svc_writer USING (true) WITH CHECK (true)`
      )
      yield* sql.unsafe(`GRANT ${writer} ON ${table} TO svc_writer`)
    }
  })

/** Runs the statements of a script one after the other. */
export const script = (...statements: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    for (const statement of statements) yield* sql.unsafe(statement)
  })
