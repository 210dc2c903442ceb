import { readFileSync } from "node:fs"
import * as path from "node:path"
import { Client } from "pg"

/** Reads every row of every table of all databases as text, by table. */
export const readEveryRow = async (dataDir: string): Promise<ReadonlyMap<string, string>> => {
  const cluster = path.join(dataDir, "postgres", "cluster")
  const access: { readonly superuser: string } = JSON.parse(readFileSync(path.join(cluster, "access.json"), "utf8"))
  const port = Number(readFileSync(path.join(cluster, "data", "postmaster.pid"), "utf8").split("\n")[3])
  const texts = new Map<string, string>()
  const server = { host: "127.0.0.1", port, user: "postgres", password: access.superuser }
  const list = new Client({ ...server, database: "svc" })
  await list.connect()
  const every = "SELECT datname AS name FROM pg_database WHERE datallowconn AND datname LIKE 'svc%'"
  const { rows: databases } = await list.query<{ readonly name: string }>(every)
  await list.end()
  for (const { name: database } of databases) {
    const client = new Client({ ...server, database })
    try {
      await client.connect()
    } catch (error) {
      // The service has just closed the template of the workspaces, as it does when it is built: it holds no rows of anyone.
      if ((error as { readonly code?: string }).code !== "55000") throw error
      continue
    }
    const { rows: tables } = await client.query<{ readonly name: string }>(
      `SELECT c.oid::regclass::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE c.relkind = 'r' AND (n.nspname NOT LIKE 'pg\\_%' OR c.relname = 'pg_largeobject')
         AND n.nspname <> 'information_schema'`
    )
    for (const { name } of tables) {
      const { rows } = await client.query<{ readonly text: string }>(`SELECT t::text AS text FROM ${name} t`)
      texts.set(`${database}.${name}`, rows.map(({ text }) => text).join("\n"))
    }
    await client.end()
  }
  return texts
}
