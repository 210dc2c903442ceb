import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import * as path from "node:path"
import { api } from "../support/api.js"
import { eventually } from "../support/eventually.js"
import { proofs } from "../support/proofs.js"
import { startProvider, type Provider } from "../support/provider.js"
import { keepEngine, type Release, buildRelease } from "../support/release.js"
import { makeDataDirectory, type Service, startService } from "../support/Service.js"

describe("A run that began on an earlier engine", () => {
  const place = makeDataDirectory()
  const { dataDir } = place
  let systems: Provider
  let earlier: Release
  let later: Release
  let current: Service
  /** Whether the provider answers the second call. */
  let isOpen = false

  const start = async (which: Release): Promise<void> => {
    current = startService({ dataDir, release: which.program, env: { SVC_EGRESS_ALLOW: "127.0.0.1/32" } })
    await current.ready
  }
  const stop = async (): Promise<void> => {
    current.kill("SIGKILL")
    await current.ended
  }

  beforeAll(async () => {
    systems = await startProvider((request, response) => {
      if (request.url !== "/second" || isOpen) response.end(request.url)
    })
    earlier = await buildRelease("earlier")
    later = await buildRelease("later")
  })

  afterAll(async () => {
    await proofs(current)
    await systems.close()
    earlier.remove()
    later.remove()
    place.remove()
  })

  it("waits for a release that has that engine, is reported until then, and continues with it; a run without a journal uses the new one", async () => {
    await start(earlier)
    const client = api(dataDir)
    const workflow = await client.workflow(
      "two_calls",
      "standard",
      `export default async (ctx) => {
        const first = ctx.input.first === false ? null : await (await fetch("${systems.url}/first", { method: "POST" })).text()
        const second = await (await fetch("${systems.url}/second", { method: "POST" })).text()
        return [first, second, release]
      }`
    )
    const asked = (url: string): number => systems.requests.filter((request) => request.url === url).length
    const begun = (await client.run(workflow)).body.executionId
    const fresh = (await client.run(workflow, { first: false })).body.executionId
    await eventually(
      () => Promise.resolve(asked("/second")),
      (count) => count === 2
    )
    await stop()

    isOpen = true
    await start(later)
    const ended = await api(dataDir).ended(fresh)
    assert.deepStrictEqual(ended.output, [null, "/second", "later"])
    const engines = async () => (await api(dataDir).call("GET", "/readyz")).body.checks.engines
    assert.deepStrictEqual(await engines(), {
      ok: false,
      current: later.engine,
      carried: [later.engine],
      others: [{ engine: earlier.engine, n: 1 }]
    })
    assert.deepInclude(await api(dataDir).call("GET", "/readyz"), { status: 200 })
    assert.strictEqual((await api(dataDir).call("GET", "/readyz")).body.status, "degraded")
    assert.strictEqual((await api(dataDir).execution(begun)).status, "running")
    await stop()

    later.carry(earlier)
    await start(later)
    assert.deepStrictEqual((await api(dataDir).ended(begun)).output, ["/first", "/second", "earlier"])
    assert.strictEqual(asked("/first"), 1)
    const next = (await api(dataDir).run(workflow)).body.executionId
    assert.deepStrictEqual((await api(dataDir).ended(next)).output, ["/first", "/second", "later"])
    assert.deepInclude(await engines(), { ok: true, carried: [later.engine, earlier.engine] })
  })
})

describe("The build", () => {
  it("keeps the complete engines of the two previous builds", () => {
    const place = makeDataDirectory()
    const folder = path.join(place.directory, "v1")
    fs.mkdirSync(folder)
    const files = (text: string) => ({ "runner.js": Buffer.from(text), "quickjs.wasm": Buffer.from("wasm") })
    const age = (engine: string, seconds: number) => {
      const at = new Date(Date.now() - seconds * 1000)
      fs.utimesSync(path.join(folder, engine), at, at)
    }
    for (const [engine, seconds] of [
      ["aaaaaaaaaaaaaaaa", 40],
      ["bbbbbbbbbbbbbbbb", 30],
      ["cccccccccccccccc", 20]
    ] as const) {
      keepEngine(folder, engine, files(engine))
      age(engine, seconds)
    }
    assert.sameMembers(fs.readdirSync(folder), ["aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb", "cccccccccccccccc"])
    keepEngine(folder, "dddddddddddddddd", files("d"))
    assert.sameMembers(fs.readdirSync(folder), ["bbbbbbbbbbbbbbbb", "cccccccccccccccc", "dddddddddddddddd"])
    age("dddddddddddddddd", 10)
    keepEngine(folder, "bbbbbbbbbbbbbbbb", files("b again"))
    assert.sameMembers(fs.readdirSync(folder), ["bbbbbbbbbbbbbbbb", "cccccccccccccccc", "dddddddddddddddd"])
    assert.strictEqual(fs.readFileSync(path.join(folder, "bbbbbbbbbbbbbbbb", "runner.js"), "utf8"), "b again")
    place.remove()
  })
})
