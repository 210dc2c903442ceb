/**
 * The second wall between tenants: row-level security on every table that holds a tenant's rows.
 * A request role sees the organisation named by the setting `svc.org` of its transaction and nothing without it;
 * the writer sees all rows of the tables that its work needs.
 */
import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

interface Access {
  /** What a request may do, within its organisation. */
  readonly app: string
  /** What journal, intake, sweeps and look-ups may do, over all organisations. Empty: nothing. */
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
