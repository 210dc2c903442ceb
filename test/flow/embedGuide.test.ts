/** Every command line of docs/embed.md works as written, and the example shows the panel to its own page alone. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type ChildProcess, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { makeCheckout, makeGuide } from "../support/guideCommands.js"

const root = fileURLToPath(new URL("../..", import.meta.url))
const guide = makeGuide("docs/embed.md")
const directory = makeCheckout()
const devOf = (member: string) =>
  JSON.parse(fs.readFileSync(path.join(directory, ".svc", "dev.json"), "utf8"))[member] as string

beforeAll(async () => {
  await guide.start(directory, "npm start")
  const readme = fs.readFileSync(path.join(root, "README.md"), "utf8").split("\n")
  guide.define(readme.find((line) => line.startsWith("dev()")) ?? assert.fail("README.md defines no dev()"))
})
afterAll(async () => {
  await guide.stop()
  guide.kill()
  fs.rmSync(directory, { recursive: true, force: true })
})

describe.sequential("docs/embed.md", () => {
  it("mints, calls, connects, refreshes, publishes a widget, installs and starts what it offers", async () => {
    assert.deepStrictEqual(await guide.runAll(directory, guide.shellBlocks("Mint a token")), [])
    const [listed = "", connected = "", refreshed = ""] = await guide.runAll(
      directory,
      guide.shellBlocks("Call from pages of your own, and refresh")
    )
    assert.deepStrictEqual(JSON.parse(listed).data, [])
    assert.include(JSON.parse(connected).data.connectUrl, `${devOf("baseUrl")}/connect/`)
    assert.match(JSON.parse(refreshed).token, /^emb_/)
    const [published = ""] = await guide.runAll(directory, guide.shellBlocks("Widgets"))
    assert.strictEqual(JSON.parse(published).data.status, "published", published)
    const [ran = "", installed = "", seen = ""] = await guide.runAll(
      directory,
      guide.shellBlocks("What a session installs, starts and sees")
    )
    assert.strictEqual(JSON.parse(ran).status, "completed", ran)
    assert.deepInclude(JSON.parse(installed).data, { status: "active", config: { language: "German" } })
    assert.strictEqual(JSON.parse(seen).data[0].id, JSON.parse(ran).executionId)
    assert.deepStrictEqual(
      guide.blocks.filter((block) => block.language === "sh" && !guide.ran.has(block)).map(({ place }) => place),
      []
    )
  })

  it("has an example whose page shows the panel", async () => {
    const key = await guide.run(directory, 'printf %s "$KEY"')
    const example = spawn(process.execPath, [path.join(root, "examples/embed/server.mjs")], {
      env: { SVC_URL: devOf("baseUrl"), SVC_KEY: key, SVC_CUSTOMER: devOf("customerId"), PORT: "0" },
      stdio: ["ignore", "pipe", "inherit"]
    })
    try {
      const address = await addressOf(example)
      const shown = await fetch(address)
      assert.include(await shown.text(), '<iframe id="panel"')
      const ask = (origin: string) => fetch(`${address}/integrations/token`, { method: "POST", headers: { origin } })
      assert.strictEqual((await ask("http://elsewhere.example")).status, 404)
      const minted = await ask(address)
      assert.strictEqual(minted.status, 200)
      const frame = await fetch(String(((await minted.json()) as { readonly iframeUrl: string }).iframeUrl))
      assert.strictEqual(frame.status, 200)
      assert.include(frame.headers.get("content-security-policy") ?? "", `frame-ancestors ${address};`)
      const [, script = ""] = /<script type="module" src="([^"]+)"/.exec(await frame.text()) ?? []
      assert.strictEqual((await fetch(devOf("baseUrl") + script)).status, 200)
    } finally {
      example.kill()
    }
  })
})

/** The address that the example prints. */
const addressOf = (example: ChildProcess): Promise<string> =>
  new Promise((resolve, reject) => {
    example.stdout?.on("data", (text: Buffer) => resolve(/http:\/\/\S+/.exec(text.toString())?.[0] ?? ""))
    example.once("exit", (code) => reject(new Error(`the example has ended: ${code}`)))
  })
