/** The program as it is shipped: the modules that it loads on demand exist and work. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Script } from "node:vm"
import { makeDocumentFiles } from "../../src/runtime/http/DocumentFiles.js"
import { worldOf } from "../support/World.js"

const world = worldOf({ allow: false })
beforeAll(() => world.start())
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

it("uses a code cache of this program and this V8, and starts without one or with a damaged one", () => {
  let rejected: boolean | undefined
  const whole = copied(({ js = "", v8 = "" }) => {
    const script = new Script(fs.readFileSync(js, "utf8"), { cachedData: fs.readFileSync(v8) })
    rejected = script.cachedDataRejected
  })
  assert.strictEqual(rejected, false)
  assert.deepStrictEqual(helped(whole), [0, true])
  assert.deepStrictEqual(helped(copied(({ v8 = "" }) => fs.rmSync(v8))), [0, true])
  assert.deepStrictEqual(helped(copied(({ v8 = "" }) => fs.writeFileSync(v8, "rubbish"))), [0, true])
})
