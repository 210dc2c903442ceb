/** An idle service asks Postgres for work with few statements: a poll of one more task costs none of its own. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import * as fs from "node:fs"
import * as path from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { Client } from "pg"
import { assertFigure } from "../../support/figures.js"
import { worldOf } from "../../support/World.js"

const world = worldOf({ allow: false })
beforeAll(() => world.start())
afterAll(() => world.stop())

const seconds = 10
/** The statements that an idle service repeats, and how often in a second. */
const polls: ReadonlyArray<readonly [statement: RegExp, perSecond: number]> = [
  [/svc_run_work/, 2],
  [/svc_due_tasks/, 1],
  [/svc_unsealed/, 1.5],
  // The locks of the database.
  [/^SELECT 1$/, 1],
  [/mail_addresses/, 0.5]
]

const logFile = () => path.join(world.dataDir, "postgres", "log")
const superuser = async () => {
  const cluster = path.join(world.dataDir, "postgres", "cluster")
  const access: { readonly superuser: string } = JSON.parse(fs.readFileSync(path.join(cluster, "access.json"), "utf8"))
  const [, , , port] = fs.readFileSync(path.join(cluster, "data", "postmaster.pid"), "utf8").split("\n")
  const client = new Client({
    host: "127.0.0.1",
    port: Number(port),
    user: "postgres",
    password: access.superuser,
    database: "postgres"
  })
  await client.connect()
  return client
}

it("repeats only the statements that are listed here", async () => {
  const admin = await superuser()
  try {
    await admin.query("ALTER SYSTEM SET log_statement = 'all'")
    await admin.query("SELECT pg_reload_conf()")
    // Until the tasks of a start are done.
    await pause(3_000)
    const before = fs.statSync(logFile()).size
    await pause(seconds * 1_000)
    const lines = fs
      .readFileSync(logFile(), "utf8")
      .slice(before)
      .split(/^(?=\d{4}-\d\d-\d\d )/m)
    const texts = lines.flatMap((line) => /(?:execute [^:]*|statement): ([\s\S]*)/.exec(line)?.[1]?.trim() ?? [])
    assert.isAtLeast(texts.filter((text) => text.includes("svc_due_tasks")).length, 2, "the log has the statements")
    const counts = new Map<string, number>()
    for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1)
    const isClock = (text: string) => text.includes("clock_timestamp()")
    for (const [text, count] of [...counts].filter(([text]) => !isClock(text))) {
      const [, perSecond = 0] = polls.find(([statement]) => statement.test(text)) ?? []
      // What comes once in a minute may fall into this time. A new statement asks for the work of a further task: it belongs
      // into `src/runtime/postgres/DueTasks.ts`.
      const most = Math.max(1, Math.ceil(perSecond * seconds) + 2)
      assertFigure({ of: text.slice(0, 80), value: count, bound: most + 1, unit: "times" })
    }
  } finally {
    await admin.query("ALTER SYSTEM RESET log_statement")
    await admin.query("SELECT pg_reload_conf()")
    await admin.end()
  }
})
