/** Connects to the embedded Postgres of a running service, as its superuser. */
import { readFileSync } from "node:fs"
import * as path from "node:path"
import { Client } from "pg"

export const connectEmbedded = async (dataDir: string): Promise<Client> => {
  const access = JSON.parse(readFileSync(path.join(dataDir, "postgres", "cluster", "access.json"), "utf8")) as {
    superuser: string
  }
  const port = Number(
    readFileSync(path.join(dataDir, "postgres", "cluster", "data", "postmaster.pid"), "utf8").split("\n")[3]
  )
  const client = new Client({ host: "127.0.0.1", port, user: "postgres", password: access.superuser, database: "svc" })
  client.on("error", () => undefined)
  await client.connect()
  return client
}
