import { afterAll, afterEach, assert, describe, it, onTestFinished } from "@effect/vitest"
import { Effect, Option, Redacted } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import * as fs from "node:fs"
import { createServer } from "node:net"
import * as path from "node:path"
import { Client } from "pg"
import { findRunning } from "../../src/runtime/embedded/EmbeddedServer.js"
import { find, isProcessAlive } from "../../src/runtime/embedded/Postmaster.js"
import { eventually } from "../support/eventually.js"
import { announce } from "../support/LogExpectations.js"
import { proofs } from "../support/proofs.js"
import {
  makeDataDirectory,
  postgresPid,
  startService as start,
  type Service,
  type ServiceOptions
} from "../support/Service.js"
import { isSameProcess, treeOf } from "../support/processes.js"

/** An ordinary user that every Linux has. */
const daemon = 1
const isRoot = process.getuid?.() === 0

const started: Array<Service> = []
const service = (options: ServiceOptions): Service => {
  const one = start(options)
  started.push(one)
  return one
}

/** Ends every service and its Postgres after each test, also after a failed one. */
afterEach(async () => {
  for (const one of started.splice(0)) {
    one.kill("SIGTERM")
    const patience = setTimeout(() => one.kill("SIGKILL"), 20_000)
    await one.ended
    clearTimeout(patience)
  }
})

const query = async (dataDir: string, statement: string) => {
  const found = Option.getOrThrow(await Effect.runPromise(findRunning(dataDir)))
  const client = new Client({ connectionString: Redacted.value(found.urls.owner) })
  await client.connect()
  try {
    return (await client.query({ text: statement, rowMode: "array" })).rows
  } finally {
    await client.end()
  }
}

const until = (condition: () => boolean | Promise<boolean>) =>
  eventually(
    async () => condition(),
    (isMet) => isMet
  )

describe("the embedded Postgres", () => {
  const { directory, dataDir, remove } = makeDataDirectory()
  if (isRoot) fs.chmodSync(directory, 0o755)
  afterAll(remove)

  it("is ready at the first start and later, closed to others, and ends with the service", async () => {
    const first = service({ dataDir })
    await first.ready
    const postgres = postgresPid(dataDir)
    assert.isTrue(isProcessAlive(postgres))
    await query(dataDir, "CREATE TABLE kept (n int)")
    first.kill("SIGTERM")
    assert.strictEqual(await first.ended, 0)
    assert.isFalse(isProcessAlive(postgres))
    const second = service({ dataDir })
    await second.ready
    assert.deepStrictEqual(await query(dataDir, "SELECT n FROM kept"), [])
    await isClosedToOthers()
    second.kill("SIGINT")
    assert.strictEqual(await second.ended, 0)
  })

  it("ends with the service also when the terminal is closed", async () => {
    const one = service({ dataDir })
    await one.ready
    const processes = treeOf(one.pid)
    assert.isAbove(processes.length, 2)
    const postgres = postgresPid(dataDir)
    one.kill("SIGHUP")
    assert.strictEqual(await one.ended, 0, one.output())
    assert.isFalse(isProcessAlive(postgres))
    assert.deepStrictEqual(processes.filter(isSameProcess), [])
  })

  /** Only the owner of the data directory can read its passwords, and no login is possible without one. */
  const isClosedToOthers = async () => {
    for (const file of ["master.keys", "key.pepper", "postgres/cluster/access.json"]) {
      assert.strictEqual(fs.statSync(path.join(dataDir, file)).mode & 0o077, 0, file)
    }
    const port = Number(
      fs.readFileSync(path.join(dataDir, "postgres/cluster/data/postmaster.pid"), "utf8").split("\n")[3]
    )
    const guess = new Client({ host: "127.0.0.1", port, user: "postgres", password: "postgres", database: "postgres" })
    const refusal = await guess.connect().then(
      () => "let in",
      (cause: unknown) => String(cause)
    )
    assert.match(refusal, /password authentication failed/)
    assert.deepStrictEqual(await query(dataDir, "SHOW listen_addresses"), [["127.0.0.1"]])
    assert.deepStrictEqual(await query(dataDir, "SHOW fsync"), [["on"]])
  }

  it("is adopted by the next start when the service was killed", async () => {
    const killed = service({ dataDir })
    await killed.ready
    const postgres = postgresPid(dataDir)
    await query(dataDir, "INSERT INTO kept VALUES (1)")
    killed.kill("SIGKILL")
    await killed.ended
    assert.isTrue(isProcessAlive(postgres))
    const next = service({ dataDir })
    await next.ready
    assert.strictEqual(postgresPid(dataDir), postgres)
    assert.deepStrictEqual(await query(dataDir, "SELECT n FROM kept"), [[1]])
    await proofs(next)
    assert.strictEqual(await next.ended, 0)
    assert.isFalse(isProcessAlive(postgres))
  })

  it("recovers every acknowledged row when service and Postgres were killed", async () => {
    const killed = service({ dataDir })
    await killed.ready
    const postgres = postgresPid(dataDir)
    await query(dataDir, "INSERT INTO kept VALUES (2)")
    // The service first: it would tell of its lost connections.
    killed.kill("SIGKILL")
    process.kill(postgres, "SIGKILL")
    await killed.ended
    const next = service({ dataDir })
    await next.ready
    assert.deepStrictEqual(await query(dataDir, "SELECT n FROM kept ORDER BY n"), [[1], [2]])
    await proofs(next)
  })

  it("starts although the pid in its lock file now belongs to another process, refuses a second service with the first one's pid, and shuts down in order at npm's second Ctrl-C", async () => {
    announce(/^svc is already running on /, { required: true })
    const lock = path.join(dataDir, "postgres/cluster/data/postmaster.pid")
    fs.writeFileSync(lock, [process.pid, "/elsewhere", 1, 5432, "", "127.0.0.1", "", "ready", ""].join("\n"))
    const first = service({ dataDir })
    await first.ready
    const postgres = postgresPid(dataDir)
    assert.notStrictEqual(postgres, process.pid)
    const second = service({ dataDir })
    assert.strictEqual(await second.ended, 1)
    assert.match(second.output(), new RegExp(`^svc is already running on .*, pid ${first.pid}\\. Stop it first.*\n$`))
    assert.deepStrictEqual(await query(dataDir, "SELECT 1"), [[1]])
    // npm forwards the terminal's Ctrl-C a second time.
    first.kill("SIGINT")
    first.kill("SIGINT")
    assert.strictEqual(await first.ended, 0)
    assert.isFalse(isProcessAlive(postgres))
  })

  it("is restarted when it dies under the service, on the port that the pools know", async () => {
    announce(/"postgres\.ended"/, { required: true })
    // Requests to Postgres meanwhile log a failure, and are retried.
    announce(/"background_task\.failed"|"audit\.seal_failed"|"database\.session_lost"/)
    const survivor = service({ dataDir })
    await survivor.ready
    const postgres = postgresPid(dataDir)
    const port = await query(dataDir, "SHOW port")
    process.kill(postgres, "SIGKILL")
    await until(() => survivor.output().includes("postgres.ended"))
    await until(async () => Option.isSome(await Effect.runPromise(findRunning(dataDir))))
    assert.deepStrictEqual(await query(dataDir, "SHOW port"), port)
    assert.notStrictEqual(postgresPid(dataDir), postgres)
    await proofs(survivor)
    assert.strictEqual(await survivor.ended, 0)
  })

  it("is restarted once the last session of a server that died has ended, and that is no failure", async () => {
    announce(/"postgres\.ended"/, { required: true })
    announce(/"background_task\.failed"|"audit\.seal_failed"|"database\.session_lost"/)
    const survivor = service({ dataDir })
    await survivor.ready
    const postgres = postgresPid(dataDir)
    const [[session]] = (await query(
      dataDir,
      "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'svc app%'"
    )) as [[number]]
    // It keeps the memory of the server until it goes on.
    process.kill(session, "SIGSTOP")
    process.kill(postgres, "SIGKILL")
    const log = path.join(dataDir, "postgres", "log")
    await until(() => fs.readFileSync(log, "utf8").includes("still in use"))
    process.kill(session, "SIGCONT")
    await until(async () => Option.isSome(await Effect.runPromise(findRunning(dataDir))))
    assert.notStrictEqual(postgresPid(dataDir), postgres)
    await proofs(survivor)
    assert.strictEqual(await survivor.ended, 0)
  })

  it("is left at once when a second signal comes later, and the next start succeeds", async () => {
    const stuck = service({ dataDir })
    await stuck.ready
    const postgres = postgresPid(dataDir)
    process.kill(postgres, "SIGSTOP")
    const impatient = setInterval(() => stuck.kill("SIGTERM"), 200)
    assert.strictEqual(await stuck.ended, 130)
    clearInterval(impatient)
    process.kill(postgres, "SIGCONT")
    const next = service({ dataDir })
    await next.ready
    next.kill("SIGTERM")
    assert.strictEqual(await next.ended, 0)
  })

  it("stops when the service refuses to start: a used port is one line that says what to do", async () => {
    announce(/^Port \d+ of 127\.0\.0\.1 is taken/, { required: true })
    const taker = createServer().listen(0, "127.0.0.1")
    await once(taker, "listening")
    const address = taker.address()
    const port = typeof address === "object" && address !== null ? String(address.port) : ""
    const refused = service({ dataDir, env: { SVC_PORT: port } })
    assert.strictEqual(await refused.ended, 1)
    assert.strictEqual(
      refused.output(),
      `Port ${port} of 127.0.0.1 is taken by another program. Stop it, or set SVC_PORT to a free port (0 takes any).\n`
    )
    assert.isTrue(Option.isNone(await Effect.runPromise(findRunning(dataDir))))
    taker.close()
  })
})

it.runIf(process.platform === "linux")("a lock file that names a zombie is removed: the zombie has ended", async () => {
  const { directory, remove } = makeDataDirectory()
  // The shell replaces itself by a program that never waits for its child, which ends only then: a shell might wait for it.
  const script = "cat <&3 >/dev/null & echo $!; exec 3<&-; exec sleep 60"
  const parent = spawn("sh", ["-c", script], { stdio: ["ignore", "pipe", "ignore", "pipe"] })
  const [printed] = await once(parent.stdout ?? assert.fail("no output"), "data")
  const zombie = Number(String(printed))
  await until(() => fs.readFileSync(`/proc/${parent.pid}/comm`, "utf8") === "sleep\n")
  parent.stdio[3]?.destroy()
  await until(() => /\) Z /.test(fs.readFileSync(`/proc/${zombie}/stat`, "utf8")))
  process.kill(zombie, 0)
  fs.writeFileSync(
    path.join(directory, "postmaster.pid"),
    [zombie, directory, 1, 5432, "", "127.0.0.1", "", "ready", ""].join("\n")
  )
  assert.isTrue(Option.isNone(await Effect.runPromise(find(directory))))
  assert.deepStrictEqual(fs.readdirSync(directory), [])
  parent.kill()
  remove()
})

it("a service killed at any moment of its first start leaves nothing that prevents the next", async () => {
  const { directory, dataDir, remove } = makeDataDirectory()
  onTestFinished(remove)
  fs.chmodSync(directory, 0o755)
  const cluster = path.join(dataDir, "postgres", "cluster")
  const moments = [
    () => fs.existsSync(path.join(dataDir, "master.keys")),
    () =>
      fs.existsSync(path.join(dataDir, "postgres")) &&
      fs.readdirSync(path.join(dataDir, "postgres")).some((name) => name.startsWith("cluster.")),
    () => fs.existsSync(cluster),
    () => fs.existsSync(path.join(cluster, "data", "postmaster.pid")),
    () =>
      fs.existsSync(path.join(cluster, "data", "postmaster.pid")) &&
      /ready/.test(fs.readFileSync(path.join(cluster, "data", "postmaster.pid"), "utf8"))
  ]
  for (const moment of moments) {
    const killed = service({ dataDir })
    await until(moment)
    killed.kill("SIGKILL")
    await killed.ended
  }
  // What an initdb leaves that went on writing after its service was killed; no process has so high an id.
  const draft = path.join(dataDir, "postgres", "cluster.4194305-left")
  fs.mkdirSync(path.join(draft, "data"), { recursive: true })
  const next = service({ dataDir })
  await next.ready
  assert.isFalse(fs.existsSync(draft))
  assert.deepStrictEqual(await query(dataDir, "SELECT count(*)::int > 20 FROM pg_tables WHERE schemaname = 'public'"), [
    [true]
  ])
  await proofs(next)
  assert.strictEqual(await next.ended, 0)
})

it("of two services that start at once on a new data directory, one runs and the other is refused", async () => {
  announce(/^svc is already running on /, { required: true })
  const { directory, dataDir, remove } = makeDataDirectory()
  onTestFinished(remove)
  fs.chmodSync(directory, 0o755)
  const both = [service({ dataDir }), service({ dataDir })]
  const outcomes = await Promise.allSettled(both.map(({ ready }) => ready))
  assert.deepStrictEqual(outcomes.map(({ status }) => status).sort(), ["fulfilled", "rejected"])
  const loser = both[outcomes.findIndex(({ status }) => status === "rejected")]
  assert.match(loser?.output() ?? "", /svc is already running/)
  for (const one of both) one.kill("SIGTERM")
  await Promise.all(both.map(({ ended }) => ended))
})

describe.runIf(isRoot)("started by root", () => {
  it("Postgres runs as nobody, also on a data directory that only root may enter", async () => {
    const { dataDir, remove } = makeDataDirectory()
    onTestFinished(remove)
    const started = service({ dataDir })
    await started.ready
    assert.strictEqual(fs.statSync(`/proc/${postgresPid(dataDir)}`).uid, 65_534)
    assert.deepStrictEqual(await query(dataDir, "SELECT 1"), [[1]])
    started.kill("SIGTERM")
    assert.strictEqual(await started.ended, 0)
  })

  it("an ordinary user starts it too, and everything stays that user's", async () => {
    const { directory, dataDir, remove } = makeDataDirectory()
    onTestFinished(remove)
    fs.chownSync(directory, daemon, daemon)
    const started = service({ dataDir, uid: daemon })
    await started.ready
    assert.strictEqual(fs.statSync(`/proc/${postgresPid(dataDir)}`).uid, daemon)
    started.kill("SIGTERM")
    assert.strictEqual(await started.ended, 0)
    // Root then starts on the same data, whose owner stays the same.
    const later = service({ dataDir })
    await later.ready
    assert.strictEqual(fs.statSync(`/proc/${postgresPid(dataDir)}`).uid, daemon)
    later.kill("SIGTERM")
    assert.strictEqual(await later.ended, 0)
  })
})
