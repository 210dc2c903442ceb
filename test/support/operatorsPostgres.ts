/** An operator's own Postgres that svc has not set up: the embedded binaries on a data directory of their own. */
import { Effect, Redacted, Scope } from "effect"
import * as fs from "node:fs"
import { Client } from "pg"
import { startEmbedded } from "../../src/runtime/embedded/EmbeddedServer.js"
import { makeDataDirectory } from "./Service.js"
import { withPatientConnect } from "./connectTimeout.js"

export const operatorsPostgres = () => {
  const { dataDir, directory, remove } = makeDataDirectory()
  let administrator = ""
  return {
    /** Starts the server, which runs until the scope closes. */
    start: async (scope: Scope.Scope) => {
      fs.chmodSync(directory, 0o755)
      const server = await Effect.runPromise(
        startEmbedded({ dataDir, durable: false }).pipe(withPatientConnect, Scope.extend(scope))
      )
      const client = new Client({ connectionString: Redacted.value(server.admin) })
      await client.connect()
      await client.query("DROP DATABASE svc")
      await client.query("DROP ROLE svc_owner, svc_writer, svc_app, svc_audit_reader")
      await client.end()
      const url = new URL(Redacted.value(server.admin))
      url.pathname = "/postgres"
      administrator = url.href
    },
    /** The administrator's login, while the server runs. */
    administrator: () => administrator,
    remove
  }
}
