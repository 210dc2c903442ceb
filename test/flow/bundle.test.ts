/** The program as it is shipped: the modules that it loads on demand exist and work. */
import { afterAll, assert, beforeAll, it, vi } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { crc32 } from "node:zlib"
import { makeDocumentFiles } from "../../src/runtime/http/DocumentFiles.js"
import { prepareData } from "../support/Service.js"
import { worldOf } from "../support/World.js"
import { scaled } from "../support/slowness.js"

const world = worldOf({ allow: false })
beforeAll(async () => {
  await prepareData(world.dataDir)
  fs.rmSync(path.join(world.dataDir, "compiled"), { recursive: true })
  await world.start()
})
afterAll(() => world.stop())

const document = `openapi: 3.0.0
info: { title: Orders, version: "1" }
servers: [{ url: "https://orders.example" }]
paths: { /orders: { get: { operationId: listOrders, responses: { "200": { description: ok } } } } }
`

const imported = (source: string) =>
  world.api().call("POST", "/api/v1/connectors", { import: { format: "openapi", slug: "orders", source } })

it("a connector is imported from YAML", async () => {
  const made = await imported(document)
  assert.strictEqual(made.status, 201, JSON.stringify(made.body))
  assert.deepStrictEqual(
    made.body.data.actions.map(({ name }: { name: string }) => name),
    ["listOrders"]
  )
})

it("text that is not YAML is a mistake of the client", async () => {
  const refused = await imported("][")
  assert.deepStrictEqual([refused.status, refused.body.details[0].code], [422, "SYNTAX_ERROR"])
})

it("the page of the API's documents renders", async () => {
  const page = await world.api().call("GET", "/docs")
  assert.deepStrictEqual([page.status, page.headers.get("content-type")], [200, "text/html; charset=utf-8"])
  const built: ReadonlyArray<{ readonly path: string }> = JSON.parse(
    fs.readFileSync(path.join(import.meta.dirname, "../../dist/docs.json"), "utf8")
  )
  const made = makeDocumentFiles()
  assert.deepStrictEqual(
    built.map((file) => file.path),
    made.map((file) => file.path)
  )
  for (const { path, text } of made.filter(({ path }) => ["/docs", "/docs/workflows", "/docs/audit"].includes(path)))
    assert.strictEqual((await world.api().call("GET", path)).body, text)
})

/** A copy of `dist/` in a folder of its own; `change` damages a part of it. */
const copied = (change: (files: { readonly [ending: string]: string }) => void): string => {
  const from = path.join(import.meta.dirname, "../../dist")
  const to = fs.mkdtempSync(path.join(os.tmpdir(), "svc-bundle-"))
  const command = fs.readFileSync(path.join(from, "svc.js"), "utf8")
  const [program = ""] = /program-[0-9a-f]+/.exec(command) ?? []
  const files = { js: path.join(to, `${program}.js`), v8: path.join(to, `${program}.v8`) }
  fs.writeFileSync(path.join(to, "svc.mjs"), command)
  for (const file of Object.values(files)) fs.copyFileSync(path.join(from, path.basename(file)), file)
  change(files)
  return to
}

const helped = (folder: string) => {
  const { status, stdout } = spawnSync(process.execPath, [path.join(folder, "svc.mjs"), "--help"], { encoding: "utf8" })
  fs.rmSync(folder, { recursive: true })
  return [status, stdout.includes("svc 0.1.0")]
}

const compiling = `const { readFileSync } = require("node:fs")
const { Script } = require("node:vm")
const [, source, cache] = process.argv
const { cachedDataRejected } = new Script(readFileSync(source, "utf8"), { cachedData: readFileSync(cache) })
process.stdout.write(String(cachedDataRejected))`

it("uses a code cache of this program and this V8, and starts without one or with a damaged one", () => {
  let rejected = ""
  const whole = copied(({ js = "", v8 = "" }) => {
    // In a process of its own: a cache is for the flags of V8 with which it was made, and this process has others.
    rejected = spawnSync(process.execPath, ["-e", compiling, js, v8], { encoding: "utf8" }).stdout
  })
  assert.strictEqual(rejected, "false")
  assert.deepStrictEqual(helped(whole), [0, true])
  assert.deepStrictEqual(helped(copied(({ v8 = "" }) => fs.rmSync(v8))), [0, true])
  assert.deepStrictEqual(helped(copied(({ v8 = "" }) => fs.writeFileSync(v8, "rubbish"))), [0, true])
})

/** The compiled code that the service of this file keeps in its data directory. */
const keptFiles = () => {
  const folder = path.join(world.dataDir, "compiled")
  return fs.existsSync(folder) ? fs.readdirSync(folder).map((name) => path.join(folder, name)) : []
}
const isWhole = (file: string) => {
  const contents = fs.readFileSync(file)
  return contents.readUInt32LE() === crc32(contents.subarray(4))
}
const runExample = async () => {
  const { exampleWorkflowId } = JSON.parse(fs.readFileSync(path.join(world.dataDir, "dev.json"), "utf8"))
  const answer = await world.api().call("POST", `/api/v1/workflows/${exampleWorkflowId}/execute`, { input: {} })
  assert.strictEqual(answer.status, 200, JSON.stringify(answer.body))
}

it(
  "keeps the compiled code of a start that has served a run, and starts with any",
  { timeout: scaled(240_000) },
  async () => {
    await runExample()
    const [file = ""] = await vi.waitUntil(() => {
      // A draft that is being written has another name.
      const files = keptFiles()
      return files.length > 0 && files.every((name) => name.endsWith(".v8")) ? files : false
    }, scaled(60_000))
    assert.deepStrictEqual([keptFiles().length, isWhole(file), fs.statSync(file).mode & 0o777], [1, true, 0o600])
    const [program = ""] = /^program-[0-9a-f]+/.exec(path.basename(file)) ?? []
    const least = fs.statSync(path.join(import.meta.dirname, "../../dist", `${program}.v8`)).size
    assert.isAbove(fs.statSync(file).size, least, "it has more functions than those that the build has called")

    // It is used: a start without it would write it anew.
    const { ino } = fs.statSync(file)
    await world.crash()
    await runExample()
    await world.restart()
    assert.strictEqual(fs.statSync(file).ino, ino)

    const whole = fs.readFileSync(file)
    const turned = Buffer.from(whole)
    turned[3_000_000] = (turned[3_000_000] ?? 0) ^ 1
    const otherFlags = Buffer.from(whole.subarray(4))
    otherFlags[12] = (otherFlags[12] ?? 0) ^ 1
    const sum = Buffer.alloc(4)
    sum.writeUInt32LE(crc32(otherFlags))
    const damages = {
      "a bit is wrong": turned,
      "it is torn": whole.subarray(0, 1_000_000),
      "another V8's": Buffer.concat([sum, otherFlags])
    }
    for (const [damage, contents] of Object.entries(damages)) {
      fs.writeFileSync(file, contents)
      await world.crash()
      await runExample()
      // A stop keeps what no moment without runs has kept.
      await world.restart()
      assert.deepStrictEqual([keptFiles(), isWhole(file), fs.statSync(file).size > least], [[file], true, true], damage)
    }
  }
)
