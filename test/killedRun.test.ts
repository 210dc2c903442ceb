/** A run of tests that is killed leaves nothing behind for longer than the start of the next one. */
import { assert, describe, it } from "@effect/vitest"
import { type ChildProcess, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { eventually } from "./support/eventually.js"
import { isSameProcess, type Process, startOf, treeOf } from "./support/processes.js"
import { postgresPid, type Service } from "./support/Service.js"

const support = path.resolve("test/support")
const [globalSetup, setup] = ["globalSetup.ts", "logSetup.ts"].map((name) => JSON.stringify(path.join(support, name)))
const config = `export default { test: { globalSetup: [${globalSetup}], setupFiles: [${setup}] } }`

/** Starts two services, and waits to be killed. */
const leaving = `import { renameSync, writeFileSync } from "node:fs"
  import { test } from "vitest"
  import { makeDataDirectory, startService } from ${JSON.stringify(path.join(support, "Service.js"))}
  test("waits", async () => {
    const services = [startService(makeDataDirectory()), startService(makeDataDirectory())]
    for (const { ready } of services) await ready
    writeFileSync("draft", JSON.stringify(services.map(({ dataDir, pid }) => ({ dataDir, pid }))))
    renameSync("draft", "ready")
    await new Promise(() => {})
  }, 600_000)`
const passing = `import { test } from "vitest"
  test("passes", () => {})`

/** The processes of Postgres that work in the directories of a run. */
const serversOf = (run: number): ReadonlyArray<Process> =>
  fs.readdirSync("/proc").flatMap((name) => {
    try {
      return fs.readlinkSync(`/proc/${name}/cwd`).includes(`/svc-test-${run}-`) ? [processOf(Number(name))] : []
    } catch {
      return []
    }
  })

const processOf = (pid: number): Process => ({ pid, startedAt: startOf(pid) ?? "" })

/** The memory of a process: none if it has ended, as a session does that was under way. */
const mapsOf = (pid: number): string => {
  try {
    return fs.readFileSync(`/proc/${pid}/maps`, "utf8")
  } catch {
    return ""
  }
}

/** The names of files in shared memory, and the ids of segments, that the processes use. */
const sharedMemoryOf = (processes: ReadonlyArray<Process>): ReadonlyArray<string> =>
  processes.flatMap(({ pid }) =>
    [...mapsOf(pid).matchAll(/(\d+) +(?:\/dev\/shm\/(PostgreSQL\.\d+)|\/SYSV)/g)].map(
      ([, segment, file]) => file ?? `segment ${segment}`
    )
  )

/** All that is in shared memory. */
const sharedMemory = (): ReadonlySet<string> => {
  const segments = fs.readFileSync("/proc/sysvipc/shm", "utf8").trim().split("\n").slice(1)
  return new Set([...fs.readdirSync("/dev/shm"), ...segments.map((line) => `segment ${line.trim().split(/\s+/)[1]}`)])
}

const runOf = (directory: string): ChildProcess =>
  spawn(process.execPath, [path.resolve("node_modules/vitest/vitest.mjs"), "run"], {
    cwd: directory,
    env: { PATH: process.env["PATH"], TMPDIR: path.join(directory, "tmp") },
    stdio: "ignore"
  })

const ended = (child: ChildProcess) => new Promise((resolve) => child.once("close", resolve))

describe.skipIf(process.platform !== "linux")("A run of tests that was killed", () => {
  it("leaves no process, file or shared memory once the next run has started", async () => {
    fs.mkdirSync(".tmp", { recursive: true })
    // Inside the repository, whose packages the files import.
    const directory = fs.mkdtempSync(path.resolve(".tmp/killed-"))
    try {
      fs.mkdirSync(path.join(directory, "tmp"))
      fs.writeFileSync(path.join(directory, "vitest.config.ts"), config)
      fs.writeFileSync(path.join(directory, "one.test.ts"), leaving)
      const killed = runOf(directory)
      const run = killed.pid ?? 0
      const ready = path.join(directory, "ready")
      await eventually(async () => fs.existsSync(ready), Boolean)
      const servers = serversOf(run)
      const shared = [...new Set(sharedMemoryOf(servers))]
      // Three servers: that of the run, and one of each service.
      assert.lengthOf(
        shared.filter((name) => name.startsWith("segment")),
        3
      )
      const [{ dataDir, pid } = { dataDir: "", pid: 0 }]: ReadonlyArray<Pick<Service, "dataDir" | "pid">> = JSON.parse(
        fs.readFileSync(ready, "utf8")
      )
      // This one's Postgres dies, and its shared memory stays.
      process.kill(pid, "SIGSTOP")
      process.kill(postgresPid(dataDir), "SIGKILL")
      const processes = [...treeOf(run), ...servers]
      killed.kill("SIGKILL")
      await ended(killed)
      assert.isNotEmpty(servers.filter(isSameProcess))

      fs.writeFileSync(path.join(directory, "one.test.ts"), passing)
      await ended(runOf(directory))
      assert.deepStrictEqual(processes.filter(isSameProcess), [])
      const stillShared = sharedMemory()
      assert.deepStrictEqual(
        shared.filter((name) => stillShared.has(name)),
        []
      )
      assert.deepStrictEqual(
        [...fs.readdirSync("/dev/shm"), ...fs.readdirSync(path.join(directory, "tmp"))].filter((name) =>
          name.startsWith(`svc-test-${run}-`)
        ),
        []
      )
    } finally {
      fs.rmSync(directory, { recursive: true, force: true })
    }
  })
})
