/** A database of the bench's own beside the service's, and statements as the superuser. */
import { Client } from "pg"
import type { Service } from "./Service.js"

/** Runs the statements one after the other and returns the rows of the last. */
export const sql = async (
  url: string,
  ...statements: ReadonlyArray<string>
): Promise<ReadonlyArray<Record<string, unknown>>> => {
  const client = new Client({ connectionString: url })
  await client.connect()
  let rows: ReadonlyArray<Record<string, unknown>> = []
  for (const statement of statements) rows = (await client.query<Record<string, unknown>>(statement)).rows
  await client.end()
  return rows
}

/** Where the floors write. */
export const floorDatabase = async (service: Service): Promise<string> => {
  // Closed to other logins: the service refuses svc.db where a workspace's login could connect to another database.
  await sql(service.admin("postgres"), "CREATE DATABASE floor", "REVOKE CONNECT ON DATABASE floor FROM PUBLIC")
  const url = service.admin("floor")
  await sql(url, "CREATE TABLE floor (id text PRIMARY KEY, body json NOT NULL, at timestamptz NOT NULL DEFAULT now())")
  return url
}
