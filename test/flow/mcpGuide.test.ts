/** Every command line of docs/mcp.md works as written. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { adminTools } from "../../src/http/mcp/admin/AdminTools.js"
import { makeCheckout, makeGuide } from "../support/guideCommands.js"

const guide = makeGuide("docs/mcp.md")
const directory = makeCheckout()

beforeAll(async () => {
  await guide.start(directory, "npm start")
  const root = fileURLToPath(new URL("../..", import.meta.url))
  const readme = fs.readFileSync(path.join(root, "README.md"), "utf8").split("\n")
  guide.define(readme.find((line) => line.startsWith("dev()")) ?? assert.fail("README.md defines no dev()"))
})
afterAll(async () => {
  await guide.stop()
  guide.kill()
  fs.rmSync(directory, { recursive: true, force: true })
})

describe.sequential("docs/mcp.md", () => {
  it("lists tools, makes, tests and publishes a connector, and makes a link", async () => {
    const [listed = "", ...answers] = await guide.runAll(directory, guide.shellBlocks("Call it by hand"))
    assert.strictEqual(JSON.parse(listed).result.tools.length, adminTools.length)
    const results = answers.map((answer) => JSON.parse(answer).result)
    for (const { content, isError } of results) assert.notStrictEqual(isError, true, content[0].text)
    const [created, updated, tested, published, linked] = results.map(({ structuredContent }) => structuredContent)
    assert.deepInclude(created, { slug: "weather", status: "draft" })
    assert.strictEqual(updated.name, "now")
    assert.deepInclude(tested, { ok: true, result: { degrees: 21 } })
    assert.strictEqual(published.data.status, "published")
    assert.include(linked.connectUrl, "/connect/")
    assert.deepStrictEqual(
      guide.blocks.filter((block) => block.language === "sh" && !guide.ran.has(block)).map(({ place }) => place),
      []
    )
  })

  it("names every tool", () => {
    const text = fs.readFileSync(fileURLToPath(new URL("../../docs/mcp.md", import.meta.url)), "utf8")
    const named = [...text.matchAll(/^\| (`svc_[^|]*) \|/gm)].flatMap(([, cell = ""]) => {
      let prefix = ""
      return [...cell.matchAll(/`(\w+)`/g)].map(([, name = ""]) => {
        if (name.startsWith("svc_")) prefix = /^svc_(?:auth_\w+?|webhook_\w+?|[a-z]+)_(?=[a-z])/.exec(name)?.[0] ?? ""
        return name.startsWith("svc_") ? name : `${prefix}${name}`
      })
    })
    assert.sameMembers(
      named,
      adminTools.map(({ name }) => name)
    )
  })
})
