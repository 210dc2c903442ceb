/**
 * Checks of a service at the end of a bench or of a test that killed processes: its audit trail is complete and sealed,
 * no check of `/readyz` fails, it logged no trouble, and it leaves no processes and files when it stops.
 */
import * as fs from "node:fs"
import * as net from "node:net"
import * as path from "node:path"
import { assert } from "vitest"
import { type Answer, api } from "./api.js"
import { eventually } from "./eventually.js"
import { isSameProcess, treeOf } from "./processes.js"
import { BrokenPromise, promised } from "./promises.js"

export interface Provable {
  readonly pid: number
  readonly dataDir: string
  readonly kill: (signal: NodeJS.Signals) => void
  readonly ended: Promise<unknown>
  /** Lines of trouble that no test announced. */
  readonly trouble: () => ReadonlyArray<string>
}

/** Checks of `/readyz` that depend on the machine and not on the service: which jail of runners works on it. */
const ofThisMachine: ReadonlySet<string> = new Set(["jail"])
const patienceMillis = 30_000

/**
 * Checks that the audit trail of a running service is complete and sealed, that every accepted event is accounted for, and
 * that no check fails. `get` returns a body.
 */
export const assertSound = async (get: (target: string) => Promise<Answer["body"]>): Promise<void> => {
  await assertSealed(() => get("/api/v1/audit/verify"))
  const reconciled = await get("/api/v1/events/reconciliation")
  if (reconciled?.data === undefined) throw new Error(`no reconciliation: ${JSON.stringify(reconciled)}`)
  const { missing, unaccounted } = reconciled.data
  promised("events are unaccounted for", () =>
    assert.isTrue(unaccounted?.length === 0 && missing?.length === 0, JSON.stringify(reconciled))
  )
  await eventually(
    () => get("/readyz"),
    (body) => body?.status === "ready" && failingChecks(body.checks).length === 0,
    patienceMillis
  )
}

/** Runs all checks, stops the service, and fails with a list of all violations. */
export const proofs = async (service: Provable): Promise<void> => {
  const { call, dev } = api(service.dataDir)
  await assertSound(async (target) => (await call("GET", target)).body)
  const postgres = postmasterOf(service.dataDir)
  const processes = [...new Set([service.pid, postgres.pid])].flatMap(treeOf)
  const ports = [Number(new URL(dev.baseUrl).port), postgres.port]
  service.kill("SIGTERM")
  await service.ended
  const leftProcesses = await eventually(
    async () => processes.filter(isSameProcess),
    (left) => left.length === 0
  )
  const listening = await Promise.all(ports.map(isListening))
  const missing = [
    ...service.trouble().map((line) => `it said: ${line}`),
    ...leftProcesses.map(({ pid }) => `its process ${pid} lives on`),
    ...ports.filter((_, at) => listening[at]).map((port) => `port ${port} is still listened on`),
    ...drafts(service.dataDir).map((name) => `${name} is left`)
  ]
  if (missing.length > 0) throw new Error(`The service ended, but ${missing.join("\n")}`)
}

// --- Private ---

/** Waits until all entries of the trail are sealed. Entries without a seal are late; a chain that is wrong stays wrong. */
const assertSealed = async (verify: () => Promise<Answer["body"]>): Promise<void> => {
  let last: Answer["body"]
  try {
    await eventually(
      async () => (last = await verify()),
      (body) => body?.data?.ok === true && body.data.unsealed === 0,
      patienceMillis
    )
  } catch (late) {
    // `ok` is also false while an entry waits for its seal for long.
    const { firstBadSeq, ok, unsealed } = last?.data ?? {}
    if (typeof firstBadSeq === "number" || (ok === false && unsealed === 0))
      throw new BrokenPromise("the audit trail is not intact", late)
    throw late
  }
}

const failingChecks = (checks: Readonly<Record<string, { readonly ok: boolean }>>) =>
  Object.entries(checks).filter(([name, { ok }]) => !ok && !ofThisMachine.has(name))

const postmasterOf = (dataDir: string) => {
  const file = path.join(dataDir, "postgres", "cluster", "data", "postmaster.pid")
  const [pid, , , port] = fs.readFileSync(file, "utf8").split("\n")
  return { pid: Number(pid), port: Number(port) }
}

const isListening = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = net.connect({ host: "127.0.0.1", port })
    socket.once("connect", () => (socket.destroy(), resolve(true)))
    socket.once("error", () => resolve(false))
  })

/** Temporary folders and files that the service renames when they are complete. */
const drafts = (dataDir: string): ReadonlyArray<string> =>
  [dataDir, path.join(dataDir, "postgres")]
    .flatMap((folder) => fs.readdirSync(folder).map((name) => path.join(folder, name)))
    .filter((name) => /(?:\.\d+-\w{6}|[/.]restore\.\w{6}|\.new)$/.test(name))
