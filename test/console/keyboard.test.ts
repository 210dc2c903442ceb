/**
 * What a person does in the console, by keyboard alone: every control is reached by Tab from where the last one was used,
 * shows that it has the focus, and is used by Enter, Space, arrows and letters. No test here moves or presses a pointer.
 */
import { afterAll, afterEach, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Browser, Locator } from "playwright-core"
import { startBrowser, type Visitor, visitorOf } from "../support/console/Browser.js"
import { reachByTab } from "../support/console/Keyboard.js"
import { shopConnector, startShop } from "../support/console/Seed.js"
import { eventually } from "../support/eventually.js"
import type { Provider } from "../support/provider.js"
import { worldOf } from "../support/World.js"

const world = worldOf({ allow: true })
let browser: Browser
let owner: Visitor
let shop: Provider

beforeAll(async () => {
  await world.start()
  browser = await startBrowser()
  owner = await visitorOf(browser, world.dataDir)
  shop = await startShop()
})
afterEach(() => assert.deepStrictEqual(owner.trouble(), []))
afterAll(async () => {
  await browser.close()
  await shop.close()
  await world.stop()
})

const press = (...keys: ReadonlyArray<string>) =>
  keys.reduce((before, key) => before.then(() => owner.page.keyboard.press(key)), Promise.resolve())
const type = (text: string) => owner.page.keyboard.type(text)

/** Whether an editor of what may be typed has the focus, in which Tab indents until Escape is pressed, as its hint says. */
const isInEditor = async (): Promise<boolean> =>
  Boolean(
    await owner.page.evaluate(
      `document.activeElement?.shadowRoot?.activeElement?.matches('[contenteditable=true]:not([aria-readonly=true])')`
    )
  )

const reach = (found: Locator) =>
  reachByTab(owner.page, found, async () => {
    if (await isInEditor()) await press("Escape")
  })
const button = (name: string | RegExp) => owner.page.getByRole("button", { name, exact: typeof name === "string" })
const tab = (name: string | RegExp) => owner.page.getByRole("tab", { name })
const field = (label: string) => owner.page.getByLabel(label, { exact: true })
const dialogField = (label: string) => owner.page.getByRole("dialog").getByLabel(label, { exact: true })
const inDialog = (name: string) => owner.page.getByRole("dialog").getByRole("button", { name, exact: true })
const use = async (control: Locator, key = "Enter") => {
  await reach(control)
  await press(key)
}
const fill = async (control: Locator, text: string) => {
  await reach(control)
  await press("Control+a")
  await type(text)
}
/** Chooses the option that begins with the text. */
const choose = async (control: Locator, text: string) => {
  await control.locator("option").filter({ hasText: text }).first().waitFor({ state: "attached" })
  await reach(control)
  await type(text)
  assert.include(await control.locator("option:checked").innerText(), text)
}
const heading = (name: string | RegExp) => owner.page.getByRole("heading", { level: 1, name }).waitFor()
const state = (word: string) => owner.page.locator("main header").getByText(word).waitFor()
const shows = (text: string | RegExp) => owner.page.locator("main").getByText(text).first().waitFor()
/** Opens a page as `Ctrl K` finds it, after a dialog that tells how the last step ended is closed. */
const open = async (name: string) => {
  const told = owner.page.getByRole("dialog")
  if ((await told.count()) > 0) await press("Escape")
  await told.first().waitFor({ state: "detached" })
  await press("Control+k")
  await owner.page.getByRole("dialog").getByRole("combobox").waitFor()
  await type(name)
  await press("Enter")
}

/** Goes to another tab of the page. */
const turnTo = async (name: string) => {
  await reach(owner.page.getByRole("tab", { selected: true }))
  for (let n = 0; n < 10 && (await tab(name).getAttribute("aria-selected")) !== "true"; n++) await press("ArrowRight")
  assert.strictEqual(await tab(name).getAttribute("aria-selected"), "true")
}

describe("by keyboard alone a person", () => {
  it("runs the example, changes it, publishes it and rolls it back", async () => {
    const { call, dev } = world.api()
    await owner.page.goto("/console/")
    await use(button("Run it"))
    await heading("hello_world")
    await state("completed")

    await open(dev.exampleWorkflowId)
    await reach(owner.page.getByRole("textbox", { name: /^Code of/ }))
    await press("Control+End")
    await type("\n// by keyboard")
    const read = async () => (await call("GET", `/api/v1/workflows/${dev.exampleWorkflowId}`)).body.data
    await eventually(read, ({ draft }) => draft.code.includes("// by keyboard"))
    await use(button("Publish …"))
    await use(inDialog("Publish"))
    await owner.page.getByRole("dialog", { name: "Version 2 is published" }).waitFor()
    await press("Escape")
    await turnTo("Versions")
    await use(button("Publish again …"))
    await use(owner.page.getByRole("dialog").locator("button[type=submit]"))
    await eventually(read, ({ publishedVersion }) => publishedVersion !== 2)
  })

  it("decides an approval, runs again with other input, and cancels", async () => {
    const client = world.api()
    const workflow = await client.workflow(
      "refund",
      "long",
      `export default async (ctx) => {
        await svc.approval("refund", { message: "Refund " + ctx.input.amount + "?", approvers: ["owner@localhost"] })
        return ctx.input.amount
      }`
    )
    await open((await client.run(workflow, { amount: 5 })).body.executionId)
    await use(button("Approve"))
    await use(inDialog("Approve"))
    await state("completed")
    await use(button("Run again"))
    await fill(dialogField("Input"), '{"amount": 7}')
    await use(inDialog("Run"))
    await shows("Refund 7?")
    await use(button("Cancel"))
    await use(inDialog("Cancel the run"))
    await state("cancelled")
  })

  it("connects an account, and makes a trigger that receives a webhook", async () => {
    const { call, dev } = world.api()
    assert.strictEqual(
      (await call("POST", "/api/v1/connectors", { ...shopConnector(shop.url), name: "Bazaar" })).status,
      201
    )
    assert.strictEqual((await call("POST", "/api/v1/connectors/shop/publish", {})).status, 200)
    const { name } = (await call("GET", `/api/v1/customers/${dev.customerId}`)).body.data
    await open("connections")
    await heading("Connections")
    await use(button("Connect an account"))
    await choose(dialogField("System"), "Bazaar")
    await choose(dialogField("Customer"), name)
    await choose(dialogField("The credential is entered"), "by me")
    await fill(dialogField("API key"), "the key of the shop")
    await use(inDialog("Test and connect"))
    await eventually(
      async () => (await call("GET", "/api/v1/connections")).body.data,
      (all) => all.length === 1
    )
    await heading("Bazaar")

    await open("triggers")
    await use(button("Create a trigger"))
    await fill(field("Name"), "orders")
    await choose(field("Workflow"), "hello")
    await use(button("Create"))
    await use(button("I have stored it"))
    await heading("orders")
    await turnTo("Test")
    await use(button("Fire"))
    await shows("accepted")
  })

  it("replays a dead letter", async () => {
    const client = world.api()
    const failing = await client.workflow(
      "check-stock",
      "standard",
      "export default async () => { throw new Error('no stock') }"
    )
    const routes = [{ workflowId: failing }]
    const trigger = {
      type: "webhook",
      name: "stock",
      webhook: { auth: "public" },
      routes,
      delivery: { maxAttempts: 1 }
    }
    const made = await client.call("POST", "/api/v1/triggers", trigger)
    await client.call("POST", new URL(made.body.data.webhook.url).pathname, {})
    const letters = async () => (await client.call("GET", "/api/v1/dlq")).body.data
    const [letter] = await eventually(letters, (all) => all.length === 1)
    await open("dead")
    await heading("Dead letters")
    await use(owner.page.locator("main").getByRole("link", { name: letter.id }))
    await use(button("Replay"))
    await use(inDialog("Replay"))
    await eventually(letters, (all) => all.some(({ id }: { readonly id: string }) => id !== letter.id))
  })

  it("adds a customer, a secret and a key, and invites a colleague", async () => {
    const { call } = world.api()
    await open("customers")
    await use(button("Add a customer"))
    await fill(dialogField("Name"), "Nordlicht")
    await press("Enter")
    await eventually(
      async () => (await call("GET", "/api/v1/customers")).body.data,
      (all) => all.some(({ name }: { readonly name: string }) => name === "Nordlicht")
    )
    await open("secrets")
    await heading("Secrets")
    await use(button(/secret$/))
    await fill(dialogField("Name"), "ERP_TOKEN")
    await fill(dialogField("Value"), "of the keyboard")
    await use(inDialog("Store"))
    await shows("ERP_TOKEN")
    await open("keys")
    await heading("Keys")
    await use(button("Create a key"))
    await fill(dialogField("Name"), "typed")
    await choose(dialogField("Rights"), "Viewer")
    await use(inDialog("Next"))
    await use(inDialog("Create"))
    await use(button("I have stored it"))
    await open("people")
    await heading("People")
    await use(button("Invite a colleague"))
    await fill(dialogField("E-mail"), "kay@example.com")
    await choose(dialogField("Role"), "developer")
    await use(inDialog("Invite"))
    await owner.page.getByRole("dialog", { name: "The invitation" }).waitFor()
    await press("Escape")
    await shows("kay@example.com")
  })

  it("goes on from the call that failed", async () => {
    const client = world.api()
    const workflow = await client.workflow(
      "resumable",
      "standard",
      `export default async () => {
        await svc.connector.shop.list_orders({ since: "2026-11-01" })
        return await svc.connector.shop.get_stock({ sku: "B-17" })
      }`
    )
    const id = (await client.run(workflow, {}, { "x-org-id": client.dev.customerId })).body.executionId
    await client.ended(id)
    await open(id)
    await heading("resumable")
    await use(button("Run again"))
    await use(inDialog("Run"))
    await owner.page.waitForURL((url) => url.pathname.includes("/runs/") && !url.pathname.endsWith(id))
    const again = owner.page.url().split("/").at(-1) ?? ""
    const ended = await client.ended(again)
    assert.strictEqual(ended.trigger.type, "rerun")
  })

  it("rotates a key", async () => {
    const { call } = world.api()
    const made = await call("POST", "/api/v1/api-keys", { name: "rotated", mode: "live", preset: "viewer" })
    const { id } = made.body.data
    await owner.page.goto(`/console/keys/${id}`)
    await heading("rotated")
    await use(button("Rotate"))
    await choose(dialogField("The old text works"), "for an hour")
    await use(inDialog("Make a new text"))
    await owner.page.getByRole("dialog", { name: "The new text of the key" }).waitFor()
    await press("Escape")
    assert.isNotNull((await call("GET", `/api/v1/api-keys/${id}`)).body.data.rotatedAt)
  })

  it("erases a customer and deletes each kind of record from its page, which then asks for it no more", async () => {
    const client = world.api()
    const make = async (path: string, body: object): Promise<string> => {
      const made = await client.call("POST", path, body)
      assert.oneOf(made.status, [201, 202], JSON.stringify(made.body))
      return made.body.data.id
    }
    const workflow = await client.workflow(
      "unwanted",
      "standard",
      "export default async () => { throw new Error('no') }"
    )
    const routes = [{ workflowId: workflow }]
    const hook = { type: "webhook", webhook: { auth: "public" }, routes, delivery: { maxAttempts: 1 } }
    const trigger = await client.call("POST", "/api/v1/triggers", { ...hook, name: "unwanted" })
    await client.call("POST", new URL(trigger.body.data.webhook.url).pathname, {})
    const [letter] = await eventually(
      async () => (await client.call("GET", `/api/v1/dlq?trigger_id=${trigger.body.data.id}`)).body.data,
      (all) => all.length === 1
    )
    const customerId = await make("/api/v1/customers", { name: "Leaver", slug: "leaver" })
    const connection = { connector: "shop", customerId, label: "Till", credential: { apiKey: "of the till" } }
    const connectionId = await make("/api/v1/connections", connection)
    await make("/api/v1/connectors", { ...shopConnector(shop.url), slug: "stall", name: "Stall" })
    const endpoint = { url: "https://hooks.example.com/in", events: ["execution.failed"] }
    const records: ReadonlyArray<readonly [path: string, action: string, typed?: string]> = [
      [`dead-letters/${letter.id}`, "Discard"],
      [`triggers/${trigger.body.data.id}`, "Delete"],
      [`workflows/${workflow}`, "Delete", "unwanted"],
      [`connections/${connectionId}`, "Delete", "Till"],
      ["connectors/stall", "Delete", "stall"],
      [`endpoints/${await make("/api/v1/webhook-endpoints", endpoint)}`, "Delete"],
      [`customers/${customerId}`, "Erase", "Leaver"]
    ]
    for (const [path, action, typed] of records) {
      await owner.page.goto(`/console/${path}`)
      const more = button("More")
      await button(new RegExp(`^(?:${action}|More)$`))
        .first()
        .waitFor()
      if ((await more.count()) > 0) {
        await use(more)
        await owner.page.getByRole("menuitem", { name: new RegExp(`^${action}`) }).waitFor()
        await press("End", "Enter")
      } else await use(button(action))
      const asked = owner.page.getByRole("dialog")
      await asked.waitFor()
      if (typed !== undefined) await fill(asked.getByRole("textbox"), typed)
      await use(asked.locator("button[type=submit]"))
      await owner.page.waitForURL(`**/console/${path.split("/")[0] ?? ""}`)
      await owner.page.locator("main").getByRole("heading", { level: 1 }).waitFor()
      assert.deepStrictEqual([path, owner.trouble()], [path, []])
    }
  })

  it("searches the audit trail, has it verified, and signs out", async () => {
    await open("audit")
    await heading("Audit")
    await use(button("Verify"))
    await owner.page.getByRole("dialog", { name: "The trail is whole" }).waitFor()
    await press("Escape")
    await fill(field("Action"), "user.invite")
    await owner.page.locator("main").getByText("kay@example.com").first().waitFor()
    await use(button("Sign out"))
    await owner.page.waitForURL("**/login**")
  })
})
