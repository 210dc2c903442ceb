/**
 * Draws each page of the console: with the records of `Seed.ts`, in both themes and narrow; and, of a service without records,
 * of one that is not reached, and of a role without rights, as it is empty, loading, failed and closed.
 */
import { spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { api, type Api } from "../api.js"
import { freePort } from "../freePort.js"
import { startBrowser, type Visitor, visitorOf } from "./Browser.js"
import { consolePages } from "./ConsolePages.js"
import { seed } from "./Seed.js"

const folder = path.resolve(process.argv[2] ?? "screenshots")
const bundle = path.join(import.meta.dirname, "../../../dist/svc.js")

/** A service of its own on an empty directory, which ends with `stop`. */
const startService = async () => {
  const dataDir = mkdtempSync(path.join(tmpdir(), "svc-screenshots-"))
  const port = await freePort()
  const child = spawn(process.execPath, [bundle, "start"], {
    env: {
      PATH: process.env["PATH"],
      SVC_DATA_DIR: dataDir,
      SVC_PORT: String(port),
      SVC_EGRESS_ALLOW: "127.0.0.1/32"
    },
    stdio: ["ignore", "pipe", "inherit"]
  })
  await new Promise<void>((resolve, reject) => {
    child.stdout.on("data", (text: Buffer) => {
      if (text.includes("service.ready")) resolve()
    })
    child.once("close", (code) => reject(new Error(`the service ended with ${code}`)))
  })
  const stop = async () => {
    const ended = new Promise((resolve) => child.once("close", resolve))
    child.kill("SIGTERM")
    await ended
    rmSync(dataDir, { recursive: true, force: true })
  }
  return { dataDir, client: api(dataDir), stop }
}

const draw = async ({ page }: Visitor, name: string) => {
  await page.screenshot({ path: path.join(folder, `${name}.png`), fullPage: true })
  console.log(`${name}.png`)
}

/** Every page with its record: light, dark, narrow. */
const drawSeeded = async (client: Api, dataDir: string, browser: Awaited<ReturnType<typeof startBrowser>>) => {
  const seeded = await seed(client)
  const pages = await consolePages(client, seeded)
  for (const [suffix, options] of [
    ["", {}],
    ["-dark", { scheme: "dark" }],
    ["-narrow", { width: 320 }]
  ] as const) {
    // A person each: one has 600 requests a minute.
    const email = `owner${suffix}@example.com`
    await client.call("POST", "/api/v1/users/invite", { email, role: "owner" })
    const visitor = await visitorOf(browser, dataDir, { ...options, email })
    for (const { name, path, shows } of pages) {
      await visitor.visit(path)
      await visitor.page.locator("main").getByText(shows).filter({ visible: true }).first().waitFor()
      await visitor.page
        .locator("main [role=status]")
        .first()
        .waitFor({ state: "detached", timeout: 5_000 })
        .catch(() => undefined)
      await draw(visitor, `${name}${suffix}`)
    }
    await visitor.close()
  }
  await client.call("POST", "/api/v1/roles", { name: "nothing", parent: "viewer", permissions: { events: ["read"] } })
  await client.call("POST", "/api/v1/users/invite", { email: "closed@example.com", role: "nothing" })
  const closed = await visitorOf(browser, dataDir, { email: "closed@example.com" })
  for (const { name, path } of pages) {
    await closed.visit(path)
    await draw(closed, `${name}-closed`)
  }
  await closed.close()
  const failing = await visitorOf(browser, dataDir)
  await failing.context.route("**/api/v1/**", (route) =>
    route.request().url().endsWith("/me") ? route.continue() : route.abort()
  )
  for (const { name, path } of pages) {
    await failing.visit(path)
    await draw(failing, `${name}-loading`)
    await failing.page
      .getByRole("alert")
      .first()
      .waitFor({ timeout: 6_000 })
      .catch(() => undefined)
    await draw(failing, `${name}-failed`)
  }
  await failing.close()
  await seeded.close()
}

mkdirSync(folder, { recursive: true })
const browser = await startBrowser()
const fresh = await startService()
const first = await visitorOf(browser, fresh.dataDir)
for (const section of ["/", "/runs", "/events", "/dead-letters", "/connections", "/approvals", "/notifications"]) {
  await first.visit(section)
  await first.page.waitForTimeout(500)
  await draw(first, `${section.slice(1) || "home"}-empty`)
}
await first.close()
await drawSeeded(fresh.client, fresh.dataDir, browser)
await browser.close()
await fresh.stop()
