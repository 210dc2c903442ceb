/** Tells of sessions of Postgres that hold a transaction and do nothing with it: others may wait for what it has locked. */
import { setTimeout as pause } from "node:timers/promises"
import type { TestCluster } from "../cluster.js"
import type { Trial } from "./Trial.js"

const lookEvery = 1_000

interface IdleSession {
  readonly pid: number
  readonly name: string
  readonly seconds: number
  readonly query: string
  readonly waiting: number
}

/** Those that are idle for five seconds, with their last statement, and how many sessions wait for them. */
const idleSql = `SELECT a.pid, a.application_name AS name, extract(epoch FROM now() - a.state_change)::int AS seconds,
    regexp_replace(left(a.query, 300), '\\s+', ' ', 'g') AS query,
    (SELECT count(*)::int FROM pg_stat_activity w WHERE a.pid = ANY (pg_blocking_pids(w.pid))) AS waiting
  FROM pg_stat_activity a
  WHERE a.state LIKE 'idle in transaction%' AND a.state_change < now() - interval '5 seconds'`

/** Until the trial is over. */
export const tellIdleSessions = async (trial: Trial, cluster: TestCluster): Promise<void> => {
  const told = new Set<string>()
  while (!trial.isOver) {
    await pause(lookEvery)
    // Postgres may be away.
    const found = await cluster.sql<IdleSession>(idleSql).catch(() => [])
    for (const { name, pid, query, seconds, waiting } of found) {
      const session = `${pid} ${query}`
      if (told.has(session)) continue
      told.add(session)
      trial.say(`session ${pid} (${name}) is idle in a transaction for ${seconds} s, ${waiting} wait for it: ${query}`)
    }
  }
}
