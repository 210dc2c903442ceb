import { afterAll, assert, it } from "@effect/vitest"
import { Effect, Option, Redacted } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { Client } from "pg"
import { findRunning } from "../../src/runtime/embedded/EmbeddedServer.js"
import { api } from "../support/api.js"
import { eventually } from "../support/eventually.js"
import { announce } from "../support/LogExpectations.js"
import { makeDataDirectory, prepareData, type Service, startService } from "../support/Service.js"

const { directory, dataDir, remove } = makeDataDirectory()
fs.chmodSync(directory, 0o755)
afterAll(remove)

const connected = async <A>(dataDir: string, use: (client: Client) => Promise<A>) => {
  const found = Option.getOrThrow(await Effect.runPromise(findRunning(dataDir)))
  const client = new Client({ connectionString: Redacted.value(found.urls.owner) })
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}

const run = async (dataDir: string, ...command: ReadonlyArray<string>) => {
  const one = startService({ dataDir, command })
  return { code: await one.ended, output: one.output() }
}

const archive = path.join(directory, "backup.tar.gz")
const restored = path.join(directory, "elsewhere")

it("a backup made while the service writes has every row acknowledged before it, and the keys", async () => {
  await prepareData(dataDir)
  const source = startService({ dataDir })
  await source.ready
  const before = await connected(dataDir, async (client) => {
    await client.query("CREATE TABLE written (n int PRIMARY KEY, filler text)")
    await client.query("INSERT INTO written SELECT n, repeat('x', 500) FROM generate_series(1, 20000) n")
    let n = 20_000
    const enough = new AbortController()
    const writer = (async () => {
      while (!enough.signal.aborted) await client.query("INSERT INTO written VALUES ($1, repeat('y', 500))", [(n += 1)])
    })()
    const acknowledged = n
    const made = await run(dataDir, "backup", archive)
    assert.strictEqual(made.code, 0, made.output)
    enough.abort()
    await writer
    assert.isAbove(n, acknowledged + 10)
    return acknowledged
  })
  source.kill("SIGTERM")
  assert.strictEqual(await source.ended, 0)
  assert.strictEqual(fs.statSync(archive).mode & 0o777, 0o600)

  const put = await run(restored, "restore", archive)
  assert.strictEqual(put.code, 0, put.output)
  for (const file of ["master.keys", "key.pepper"]) {
    assert.strictEqual(
      fs.readFileSync(path.join(restored, file), "utf8"),
      fs.readFileSync(path.join(dataDir, file), "utf8")
    )
    assert.strictEqual(fs.statSync(path.join(restored, file)).mode & 0o777, 0o600)
  }
  const copy = startService({ dataDir: restored })
  await copy.ready
  const [row] = await connected(
    restored,
    async (client) =>
      (
        await client.query<{ readonly first: string; readonly last: number; readonly whole: boolean }>(
          "SELECT count(*) FILTER (WHERE n <= $1) AS first, max(n) AS last, count(*) = max(n) AS whole FROM written",
          [before]
        )
      ).rows
  )
  assert.strictEqual(Number(row?.first), before)
  assert.isTrue(row?.whole, "rows are missing between the first and the last")
  copy.kill("SIGTERM")
  assert.strictEqual(await copy.ended, 0)
})

it("a backup can be made while the service is stopped", async () => {
  const file = path.join(directory, "stopped.tar.gz")
  const made = await run(dataDir, "backup", file)
  assert.strictEqual(made.code, 0, made.output)
  assert.isTrue(Option.isNone(await Effect.runPromise(findRunning(dataDir))))
  assert.strictEqual((await run(path.join(directory, "third"), "restore", file)).code, 0)
})

it("a restore over existing data keeps a copy of that data", async () => {
  fs.writeFileSync(path.join(restored, "master.keys"), "the old keys")
  const put = await run(restored, "restore", archive)
  assert.strictEqual(put.code, 0, put.output)
  const aside = fs.readdirSync(restored).find((name) => name.startsWith("before-restore-")) ?? ""
  assert.strictEqual(fs.readFileSync(path.join(restored, aside, "master.keys"), "utf8"), "the old keys")
  assert.strictEqual(
    fs.readFileSync(path.join(restored, "master.keys"), "utf8"),
    fs.readFileSync(path.join(dataDir, "master.keys"), "utf8")
  )
})

it("a restore under a running service is refused", async () => {
  const source = startService({ dataDir })
  await source.ready
  const refused = await run(dataDir, "restore", archive)
  assert.strictEqual(refused.code, 1)
  assert.match(refused.output, /Stop it first/)
  source.kill("SIGTERM")
  await source.ended
})

it("a truncated or foreign archive changes nothing", async () => {
  const whole = fs.readFileSync(archive)
  const cut = path.join(directory, "cut.tar.gz")
  fs.writeFileSync(cut, whole.subarray(0, Math.floor(whole.length * 0.9)))
  const keys = fs.readFileSync(path.join(dataDir, "master.keys"), "utf8")
  const files = fs.readdirSync(dataDir).sort()
  for (const file of [cut, path.join(dataDir, "master.keys")]) {
    const refused = await run(dataDir, "restore", "--force", file)
    assert.strictEqual(refused.code, 1)
    assert.match(refused.output, /could not be restored: .*Nothing has changed/)
  }
  assert.strictEqual(fs.readFileSync(path.join(dataDir, "master.keys"), "utf8"), keys)
  assert.deepStrictEqual(fs.readdirSync(dataDir).sort(), files)
})

it("a restore of older data closes the audit trail's branch, and the chain verifies", async () => {
  announce(/"audit\.branch_closed"/, { required: true })
  const own = path.join(directory, "branches")
  const older = path.join(directory, "older.tar.gz")
  const ask = async (service: Service, method: string, target: string, body?: object) => {
    await service.ready
    return (await api(own).call(method, target, body)).body.data
  }
  const sealed = (service: Service) =>
    eventually(
      () => ask(service, "GET", "/api/v1/audit/verify"),
      ({ checked, unsealed }) => unsealed === 0 && checked > 0
    )
  const stop = async (service: Service) => {
    service.kill("SIGTERM")
    assert.strictEqual(await service.ended, 0)
  }
  await prepareData(own)
  const newer = startService({ dataDir: own })
  await ask(newer, "POST", "/api/v1/customers", { name: "Before" })
  await sealed(newer)
  assert.strictEqual((await run(own, "backup", older)).code, 0)
  for (let n = 0; n < 5; n++) await ask(newer, "POST", "/api/v1/customers", { name: `After ${n}` })
  const before = await sealed(newer)
  await stop(newer)
  assert.strictEqual((await run(own, "restore", older)).code, 0)
  for (const again of [false, true]) {
    const service = startService({ dataDir: own })
    const after = await sealed(service)
    assert.deepInclude(after, { ok: true, firstBadSeq: null }, again ? "the second start" : "the first start")
    assert.lengthOf(after.closedBranches, 1)
    const [{ closed, resumed }] = after.closedBranches
    assert.isAtLeast(closed.seq, before.checked)
    assert.isBelow(resumed.seq, closed.seq)
    const [entry, ...others] = await ask(service, "GET", "/api/v1/audit?action=audit.branch_close")
    assert.isEmpty(others)
    assert.deepInclude(entry.changes, { path: "seq", before: closed.seq, after: resumed.seq })
    await stop(service)
  }
})
