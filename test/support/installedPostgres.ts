/** A server of the Postgres that is installed on this machine, with its programs: the embedded one has neither psql nor pg_dump. */
import { execFileSync, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { inject } from "vitest"
import { eventually } from "./eventually.js"
import { freePort } from "./freePort.js"
import { recordProcess } from "./TestRun.js"
import { Client } from "pg"

const parent = "/usr/lib/postgresql"

/** The folder of the programs of the newest one. Throws if there is none. */
export const postgresPrograms = (): string => {
  const versions = fs.existsSync(parent) ? fs.readdirSync(parent).map(Number).filter(Number.isInteger) : []
  const folder = path.join(parent, String(Math.max(0, ...versions)), "bin")
  if (fs.existsSync(path.join(folder, "initdb"))) return folder
  throw new Error("These tests need Postgres with psql and pg_dump: install it (Debian: apt-get install postgresql)")
}

/** Starts a server on a free port of 127.0.0.1. Nobody else uses it, so that it asks for no password. */
export const startInstalledPostgres = async () => {
  const programs = postgresPrograms()
  const directory = fs.mkdtempSync(path.join(inject("runDirectory"), "installed-"))
  const isRoot = process.getuid?.() === 0
  // Postgres refuses to run as root.
  const user = isRoot ? { uid: 65_534, gid: 65_534 } : {}
  if (isRoot) fs.chownSync(directory, 65_534, 65_534)
  const data = path.join(directory, "data")
  const options = { ...user, cwd: directory, stdio: "pipe" } as const
  execFileSync(path.join(programs, "initdb"), ["-D", data, "-U", "postgres", "--auth=trust", "--no-sync"], options)
  const port = await freePort()
  const words = ["-D", data, "-p", String(port), "-h", "127.0.0.1", "-k", directory, "-F"]
  const child = spawn(path.join(programs, "postgres"), words, { ...user, cwd: directory, stdio: "ignore" })
  recordProcess(inject("runDirectory"), child.pid)
  const ended = new Promise((resolve) => child.once("close", resolve))
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  const answers = async () => {
    const session = new Client({ connectionString: url })
    session.on("error", () => undefined)
    try {
      await session.connect()
      return true
    } catch {
      return false
    } finally {
      await session.end().catch(() => undefined)
    }
  }
  await eventually(answers, (isThere) => isThere)
  return {
    url,
    address: `127.0.0.1:${port}`,
    stop: async () => {
      // Ends the sessions that are still open.
      child.kill("SIGINT")
      await ended
      fs.rmSync(directory, { recursive: true, force: true })
    }
  }
}
