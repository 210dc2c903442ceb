/** Tells a node that hangs from one that waits for Postgres. */
import { Effect, Redacted } from "effect"
import { Client } from "pg"
import { processName, sessionName } from "../../process/ProcessName.js"
import { isOfProcess, ownSessions } from "./OwnSessions.js"
import { withServerSettings } from "./Pools.js"

/** A statement that Postgres works on for longer, or that waits for a lock of another session, keeps its node waiting. */
const slowSeconds = 5
const answerMillis = 2_000

/**
 * Whether Postgres answers within 2 s, and works on no statement of this process for longer than 5 s. Opens a connection of
 * its own: a node may hang because its pool gives it none. `login`: of the role whose statements are meant.
 */
export const answersPromptly = (login: Redacted.Redacted): Effect.Effect<boolean> =>
  Effect.promise(async () => {
    const client = new Client({
      connectionString: withServerSettings(Redacted.value(login)),
      application_name: sessionName("svc probe"),
      connectionTimeoutMillis: answerMillis,
      query_timeout: answerMillis
    })
    // Its statement fails as well.
    client.on("error", () => undefined)
    try {
      await client.connect()
      // A count of Postgres' own table, not decoded, since it is cast in the statement.
      const { rows } = await client.query<{ n: number }>(
        `SELECT count(*)::int AS n FROM ${ownSessions}
         WHERE state = 'active' AND ${isOfProcess}
           AND query_start < clock_timestamp() - interval '${slowSeconds} seconds'`,
        [processName]
      )
      return rows[0]?.n === 0
    } catch {
      return false
    } finally {
      void client.end().catch(() => undefined)
    }
  })
