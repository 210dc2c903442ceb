/** Runs statements as the superuser, and creates the database of the floors beside the service's. */
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

/** Creates the database and the table that the floors write to. Returns the URL. */
export const createFloorDatabase = async (service: Service): Promise<string> => {
  // No other login may connect: the service refuses svc.db if a workspace's login could connect to another database.
  await sql(service.admin("postgres"), "CREATE DATABASE floor", "REVOKE CONNECT ON DATABASE floor FROM PUBLIC")
  const url = service.admin("floor")
  await sql(url, "CREATE TABLE floor (id text PRIMARY KEY, body json NOT NULL, at timestamptz NOT NULL DEFAULT now())")
  return url
}
