/**
 * Measures the cost of many workspaces: `npx tsx bench/Workspaces.ts [1000]`. It uses each once, on an embedded
 * Postgres of its own in the temporary directory. Decision 0011 quotes the figures.
 */
import { Duration, Effect, Exit, Redacted, Scope } from "effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Client } from "pg"
import { startEmbedded } from "../src/runtime/embedded/EmbeddedServer.js"
import { openWorkspaceDatabases } from "../src/runtime/workspace/WorkspaceDatabases.js"

const count = Number(process.argv[2] ?? 1000)
const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), "svc-bench-workspaces-"))
const scope = Effect.runSync(Scope.make())
const diskMiB = () =>
  fs
    .readdirSync(dataDir, { recursive: true, encoding: "utf8" })
    .reduce(
      (sum, name) => sum + (fs.statSync(path.join(dataDir, name), { throwIfNoEntry: false })?.blocks ?? 0) / 2048,
      0
    )

/** CPU seconds that the server's processes have used, including those that have ended. */
const cpuSeconds = (pid: number): number => {
  const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8")
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  const children = fs.readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean)
  const living = children.map((child) => {
    try {
      const line = fs.readFileSync(`/proc/${child}/stat`, "utf8")
      const [, user = "0", system = "0"] = /\) (?:\S+ ){11}(\d+) (\d+)/.exec(line) ?? []
      return Number(user) + Number(system)
    } catch {
      return 0
    }
  })
  return (fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) + living.reduce((a, b) => a + b, 0)) / 100
}

const percentile = (sorted: ReadonlyArray<number>, share: number) =>
  sorted[Math.floor((sorted.length - 1) * share)]?.toFixed(0)

const server = await Effect.runPromise(Scope.extend(startEmbedded({ dataDir }), scope))
const url = new URL(Redacted.value(server.admin))
url.pathname = "/svc_ws"
const openingAt = performance.now()
const workspaces = await openWorkspaceDatabases({
  admin: Redacted.make(url.href),
  pepper: Redacted.make("bench"),
  connectTimeout: Duration.seconds(5)
})
const openMillis = performance.now() - openingAt
const diskBefore = diskMiB()
const times: Array<number> = []
for (let i = 0; i < count; i++) {
  const start = performance.now()
  const client = new Client(await workspaces.reach(`spc_${i}`))
  await client.connect()
  await client.query("CREATE TABLE t (id int)")
  times.push(performance.now() - start)
  await client.end()
}
const sorted = times.toSorted((a, b) => a - b)
const connectingAt = performance.now()
const client = new Client(await workspaces.reach("spc_1"))
await client.connect()
await client.query("SELECT 1")
const connectMillis = performance.now() - connectingAt
const sizingAt = performance.now()
await workspaces.sizes(["spc_1"])
const sizeMillis = performance.now() - sizingAt
await client.end()
const pid = Number(
  fs.readFileSync(path.join(dataDir, "postgres", "cluster", "data", "postmaster.pid"), "utf8").split("\n")[0]
)
const cpuBefore = cpuSeconds(pid)
await new Promise((resolve) => setTimeout(resolve, 30_000))
process.stdout.write(
  `${count} workspaces: opened in ${openMillis.toFixed(0)} ms; first use p50 ${percentile(sorted, 0.5)} ms, p99 ${percentile(sorted, 0.99)} ms, ` +
    `last 20 p50 ${percentile(
      times.slice(-20).toSorted((a, b) => a - b),
      0.5
    )} ms; ` +
    `disk ${((diskMiB() - diskBefore) / count).toFixed(2)} MiB each; a connection ${connectMillis.toFixed(1)} ms; ` +
    `a size ${sizeMillis.toFixed(1)} ms; idle CPU ${(((cpuSeconds(pid) - cpuBefore) / 30) * 100).toFixed(1)} % of a core\n`
)
await workspaces.close()
await Effect.runPromise(Scope.close(scope, Exit.void))
fs.rmSync(dataDir, { recursive: true, force: true })
