/** A cluster whose nodes come and go keeps its promises: `npm run chaos` runs it. What it draws, and its command, are tested. */
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { startFarm } from "../../support/chaos/Farm.js"
import { makeLedger } from "../../support/chaos/Ledger.js"
import { makeTrial } from "../../support/chaos/Trial.js"
import { assertPromises, shortest } from "../../support/chaos/Promises.js"
import { drawFaults, drawMoods, type Fault } from "../../support/chaos/Plan.js"
import { scaled } from "../../support/slowness.js"

describe("a cluster whose nodes, builds, clocks, Postgres and NATS come and go", () => {
  it("keeps its promises", { timeout: scaled(600_000 + shortest * 1_000) }, () => assertPromises({}))
})

const kinds = ["kill", "stop", "freeze", "cut", "slow", "join", "clock", "partition", "broker", "postgres", "release"]

describe("what a trial draws", () => {
  it("is the same for a seed, of every kind, and within its time", () => {
    const hasAll = (faults: ReadonlyArray<Fault>) =>
      assert.sameMembers([...new Set(faults.map(({ kind }) => kind))], kinds)
    for (const seed of Array.from({ length: 50 }, (_, n) => n)) {
      hasAll(drawFaults(seed, shortest * 1_000))
      const minute = drawFaults(seed, 60_000)
      assert.deepStrictEqual(drawFaults(seed, 60_000), minute)
      assert.notDeepEqual(drawFaults(seed + 1, 60_000), minute)
      assert.isTrue(minute.length > 15 && minute.every(({ atMillis }) => atMillis < 60_000))
      hasAll(minute)
      const moods = drawMoods(seed, 60_000)
      assert.deepStrictEqual(drawMoods(seed, 60_000), moods)
      assert.sameMembers([...new Set(moods.map(({ mood }) => mood))], ["limited", "failing", "slow", "endless"])
      assert.isTrue(moods.every(({ atMillis, millis }) => atMillis + millis <= 60_000))
    }
    const hour = drawFaults(7, 3_600_000).filter(({ kind }) => kind === "release")
    assert.deepStrictEqual(
      hour.map((fault) => (fault.kind === "release" ? fault.to : "")),
      Array.from({ length: 120 }, (_, n) => (n % 2 === 0 ? "next" : "this"))
    )
  })
})

describe("what a trial counts", () => {
  it("is compared with the service's records: a difference is a violation, with both numbers", () => {
    const lines: Array<string> = []
    const trial = makeTrial((line) => lines.push(line))
    const ledger = makeLedger(trial)
    ledger.compare("accepted", { what: "events", outside: 3, service: 3 })
    assert.deepStrictEqual(trial.violations(), [])
    ledger.compare("deliveries", { what: "ends told", outside: 4, service: 5 })
    assert.deepStrictEqual(trial.violations(), ["deliveries: ends told: 4 outside, 5 in the service's records"])
    assert.match(ledger.table(), /^counted +outside +service\nevents +3 +3\nends told +4 +5$/)
    assert.include(trial.table(), "deliveries: ends told: 4 outside")
    assert.lengthOf(lines, 1)
  })

  it("has one item for a key at the farm, whatever it answers", async () => {
    const farm = await startFarm(() => 0)
    const make = (key: string) =>
      fetch(`${farm.url}/items`, {
        method: "POST",
        headers: { "idempotency-key": key },
        body: JSON.stringify({ name: "one", step: 0 }),
        signal: AbortSignal.timeout(1_000)
      })
    const statuses: Array<number> = []
    for (const mood of ["limited", "failing", "slow", "well"] as const) {
      farm.mood = mood
      statuses.push((await make("first")).status)
    }
    farm.mood = "endless"
    await make("second").then(
      (answer) =>
        answer.text().then(
          () => assert.fail("the answer has an end"),
          () => undefined
        ),
      () => undefined
    )
    await farm.close()
    assert.deepStrictEqual(statuses, [429, 500, 200, 200])
    assert.deepStrictEqual(
      farm.requests.map(({ isCommitted }) => isCommitted),
      [false, true, false, false, true]
    )
  })
})

describe("npm run chaos", () => {
  const run = (...words: ReadonlyArray<string>) =>
    spawnSync(process.execPath, ["scripts/chaos.mjs", ...words], { encoding: "utf8" })

  it("tells its options", () => {
    const { status, stdout } = run("--help")
    assert.strictEqual(status, 0)
    for (const option of ["--duration", "--seed", "--port", "--nats-server", "--logs"]) assert.include(stdout, option)
  })

  /** It ends before anything has started, with one sentence. */
  const refuses = (
    { status, stderr }: { readonly status: number | null; readonly stderr: string },
    sentence: string
  ) => {
    assert.strictEqual(status, 2, stderr)
    assert.include(stderr, sentence)
    assert.lengthOf(stderr.trim().split("\n"), 1)
  }

  it.each([
    [["--duration", "3s"], "--duration is a time from 5s to 60m"],
    [["--duration", "soon"], "--duration is a time from 5s to 60m"],
    [["--seed=-1"], "--seed is a whole number"],
    [["--seed", "-1"], "--help shows the options"],
    [["--duration", "61m"], "--duration is a time from 5s to 60m"],
    [["--port", "0"], "--port is a number from 1 to 65535, not 0."],
    [["--port", "http"], "--port is a number from 1 to 65535, not http."],
    [["--nats-server", "package.json"], "package.json is no program that can be run"],
    [["--nodes"], "Unknown option '--nodes'"],
    [["now"], "Unexpected argument 'now'"]
  ])("refuses %j in one sentence", (words, sentence) => refuses(run(...words), sentence))

  it("refuses a port that is taken", async () => {
    const server = net.createServer()
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const { port } = server.address() as net.AddressInfo
    refuses(run("--port", String(port)), `Port ${port} of 127.0.0.1 is taken`)
    server.close()
  })

  it("names a program that is missing: nats-server, vitest, Postgres, the build", () => {
    const copy = fs.mkdtempSync(path.join(os.tmpdir(), "svc-test-chaos-"))
    const inCopy = (file: string) => path.join(copy, file)
    const runCopy = (env: Readonly<Record<string, string>>) =>
      spawnSync(process.execPath, [inCopy("scripts/chaos.mjs")], { encoding: "utf8", env })
    fs.mkdirSync(inCopy("scripts"))
    fs.cpSync("scripts/chaos.mjs", inCopy("scripts/chaos.mjs"))
    fs.writeFileSync(inCopy("nats-server"), "#!/bin/sh\n", { mode: 0o755 })
    // Where neither the machine nor its apt-get has it.
    if (!fs.existsSync("/usr/sbin/nats-server"))
      refuses(runCopy({ PATH: inCopy("none"), TMPDIR: inCopy("none") }), "nats-server is missing: install it")
    const env = { PATH: copy }
    refuses(runCopy(env), "The packages of svc are not installed")
    fs.mkdirSync(inCopy("node_modules/vitest"), { recursive: true })
    refuses(runCopy(env), "The program of Postgres is missing")
    fs.rmSync(inCopy("node_modules"), { recursive: true })
    fs.symlinkSync(path.resolve("node_modules"), inCopy("node_modules"))
    fs.cpSync("package.json", inCopy("package.json"))
    fs.writeFileSync(inCopy("scripts/build.mjs"), 'console.error("error: src/Main.ts is missing")\nprocess.exit(1)\n')
    refuses(runCopy(env), "svc cannot be built: error: src/Main.ts is missing")
    fs.rmSync(copy, { recursive: true })
  })
})
