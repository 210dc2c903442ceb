/**
 * What a person does in the console of the built program, in a real browser, from the first link on: the guide, whose steps
 * are ticked by the records that they made; runs, which are watched, cancelled and run again; keys, whose text is shown once.
 */
import { afterAll, afterEach, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Browser } from "playwright-core"
import { startBrowser, type Visitor, visitorOf } from "../support/console/Browser.js"
import { shopConnector, startShop } from "../support/console/Seed.js"
import { eventually } from "../support/eventually.js"
import { startProvider, type Provider } from "../support/provider.js"
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

const button = (name: string | RegExp) => owner.page.getByRole("button", { name, exact: typeof name === "string" })
const field = (label: string) => owner.page.getByLabel(label, { exact: true })
const shows = (text: string | RegExp) => owner.page.locator("main").getByText(text).first().waitFor()

/** The webhook of a connector that is subscribed to. */
const hooksOfCrm = {
  slug: "crm",
  name: "CRM",
  actions: [
    { name: "ping", version: 1, request: { method: "GET", path: "/ping" } },
    { name: "subscribe", version: 1, request: { method: "POST", path: "/hooks", body: { url: "{{args.url}}" } } },
    { name: "unsubscribe", version: 1, request: { method: "DELETE", path: "/hooks/{{args.id}}" } }
  ],
  events: [{ id: "deal.updated", delivery: "webhook", key: "deal.changed" }],
  webhooks: [
    {
      id: "deals",
      type: "per_event",
      items: "$.events",
      eventKey: "$.type",
      subscribe: { action: "subscribe", args: { url: "{{webhook.url}}" }, idFrom: "$.id" },
      unsubscribe: { action: "unsubscribe", args: { id: "{{subscription.id}}" } },
      verify: { scheme: "hmac", subscriptionSecret: true, header: "x-crm-signature", idHeader: "x-crm-delivery" }
    }
  ]
}

describe("a person", () => {
  it("is led from the example to an own webhook, each step ticked by the record that it made", async () => {
    const { page, visit } = owner
    const { call, dev } = world.api()
    await page.goto("/")
    await shows("First steps: 0 of 5 done")
    await button("Run it").click()
    await page.getByRole("heading", { level: 1, name: "hello_world" }).waitFor()
    await shows("completed")

    await visit("/")
    await shows("First steps: 1 of 5 done")
    await page.getByRole("link", { name: "hello_world" }).first().click()
    const editor = page.locator(".cm-content")
    await editor.click()
    await page.keyboard.press("Control+End")
    await page.keyboard.type("\n// changed in the console")
    const draftOf = async () =>
      (await call("GET", `/api/v1/workflows/${dev.exampleWorkflowId}`)).body.data.draft.code as string
    await eventually(draftOf, (code) => code.includes("// changed in the console"))

    await button("Publish …").click()
    await page.getByRole("dialog").getByRole("button", { name: "Publish", exact: true }).click()
    await page.getByRole("dialog", { name: "Version 2 is published" }).waitFor()
    await page.keyboard.press("Escape")
    await visit("/")
    await shows("First steps: 3 of 5 done")

    assert.strictEqual((await call("POST", "/api/v1/connectors", shopConnector(shop.url))).status, 201)
    assert.strictEqual((await call("POST", "/api/v1/connectors/shop/publish", {})).status, 200)
    await visit("/connectors/shop")
    await button("Connect an account").click()
    await field("Customer").selectOption(dev.customerId)
    await field("The credential is entered").selectOption("credential")
    await field("API key").fill("the key of the shop")
    await button("Test and connect").click()
    await page.getByRole("heading", { level: 1, name: "Shop" }).waitFor()
    await shows("Signs in by")

    const trigger = await call("POST", "/api/v1/triggers", {
      type: "webhook",
      name: "first",
      webhook: { auth: "public" },
      routes: [{ workflowId: dev.exampleWorkflowId }]
    })
    await visit("/")
    await shows("First steps: 4 of 5 done")
    assert.strictEqual(
      (await call("POST", new URL(trigger.body.data.webhook.url).pathname, { name: "you" })).status,
      202
    )
    await page.getByText(/First steps/).waitFor({ state: "detached" })
  })

  it("watches a run, decides its approval, cancels one, and runs it again with other input", async () => {
    const { page, visit } = owner
    const client = world.api()
    const workflow = await client.workflow(
      "refund",
      "long",
      `export default async (ctx) => {
        const { decision } = await svc.approval("refund", { message: "Refund " + ctx.input.amount + "?", approvers: ["owner@localhost"] })
        return { decision, amount: ctx.input.amount }
      }`
    )
    const first = (await client.run(workflow, { amount: 5 })).body.executionId
    await visit(`/runs/${first}`)
    await shows("Refund 5?")
    await button("Approve").click()
    await page.getByRole("dialog").getByRole("button", { name: "Approve" }).click()
    await page.locator("main header").getByText("completed").waitFor()

    await button("Run again").click()
    await field("Input").fill('{"amount": 7')
    await page.getByText("This is not JSON").waitFor()
    await field("Input").fill('{"amount": 7}')
    await page.getByRole("dialog").getByRole("button", { name: "Run", exact: true }).click()
    await shows("Refund 7?")
    const second = page.url().split("/").at(-1) ?? ""
    assert.deepStrictEqual((await client.execution(second)).input, { amount: 7 })
    await button("Cancel").click()
    await button("Cancel the run").click()
    await page.locator("main header").getByText("cancelled").waitFor()
    assert.strictEqual((await client.ended(second)).status, "cancelled")
    const made = (await client.execution(second)).trigger
    const me = (await client.call("GET", "/api/v1/users")).body.data[0].id
    assert.deepStrictEqual([made.keyId, made.id], [null, me])
  })

  it("goes on from the call that failed", async () => {
    const { page, visit } = owner
    const client = world.api()
    const workflow = await client.workflow(
      "stock",
      "standard",
      `export default async () => {
        const { orders } = await svc.connector.shop.list_orders({ since: "2026-11-01" })
        return { orders: orders.length, stock: await svc.connector.shop.get_stock({ sku: "B-17" }) }
      }`
    )
    const id = (await client.run(workflow, {}, { "x-org-id": client.dev.customerId })).body.executionId
    await client.ended(id)
    await visit(`/runs/${id}`)
    await shows("stock service unavailable")
    await button("Run again").click()
    assert.strictEqual(await field("Calls").inputValue(), "resume")
    await page.getByRole("dialog").getByRole("button", { name: "Run", exact: true }).click()
    await page.waitForURL((url) => !url.pathname.endsWith(id))
    const again = page.url().split("/").at(-1) ?? ""
    await client.ended(again)
    await visit(`/runs/${id}?tab=about`)
    await page.locator("main").getByRole("link", { name: again }).click()
    await page.waitForURL(`**/console/runs/${again}`)
    await page.getByRole("tab", { name: "About" }).click()
    assert.strictEqual(
      await page.locator("main .facts").getByRole("link", { name: id }).getAttribute("href"),
      `/console/runs/${id}`
    )
    const asked = shop.requests.filter(({ url }) => url.startsWith("/orders"))
    assert.lengthOf(asked, 1)
  })

  it("sees why a trigger's subscription fails and when it is tried again, and tries it", async () => {
    const { page, visit } = owner
    const { call, dev } = world.api()
    let isAway = false
    const crm = await startProvider((_, response) =>
      response
        .writeHead(isAway ? 503 : 200, { "content-type": "application/json" })
        .end(JSON.stringify(isAway ? { error: "hooks are being moved" } : { id: "h1" }))
    )
    const made = async (target: string, body: object) => {
      const answer = await call("POST", `/api/v1${target}`, body)
      assert.isBelow(answer.status, 300, JSON.stringify(answer.body))
      return answer.body.data
    }
    await made("/connectors", { ...shopConnector(crm.url), ...hooksOfCrm })
    await made("/connectors/crm/publish", {})
    await made("/connections", {
      connector: "crm",
      customerId: dev.customerId,
      authMethod: "key",
      credential: { apiKey: "key of the crm" }
    })
    isAway = true
    const { id } = await made("/triggers", {
      type: "app_event",
      name: "deals",
      routes: [{ workflowId: dev.exampleWorkflowId }],
      appEvent: { connector: "crm", event: "deal.updated" }
    })
    await eventually(
      async () => (await call("GET", `/api/v1/triggers/${id}`)).body.data.appEvent.subscription,
      (state) => state === "failed"
    )
    await visit(`/triggers/${id}`)
    const row = page.locator("main table tbody tr").filter({ hasText: "conn_" })
    await row.getByText("failed", { exact: true }).waitFor()
    await row.getByText(/hooks are being moved|503/).waitFor()
    await row.getByText(/tried again in \d/).waitFor()
    isAway = false
    await button("Try it again").click()
    await row.getByText("subscribed", { exact: true }).waitFor()
    await button("Try it again").waitFor({ state: "detached" })
    await crm.close()
  })

  it("makes a key whose text is shown once and works at once", async () => {
    const { page, visit } = owner
    await visit("/keys")
    await button("Create a key").first().click()
    await page.getByRole("dialog").getByLabel("Name", { exact: true }).fill("from the console")
    await field("Rights").selectOption("viewer")
    await button("Next").click()
    await button("Create").click()
    await page.getByText("This is the only time that the key is shown").waitFor()
    const text = (await page.getByRole("dialog").locator("code").first().textContent()) ?? ""
    const answer = await fetch(`${world.api().dev.baseUrl}/api/v1/me`, { headers: { authorization: `Bearer ${text}` } })
    assert.strictEqual(answer.status, 200)
    await button("I have stored it").click()
    await page.getByRole("link", { name: "from the console" }).click()
    await shows("Begins and ends")
    assert.notInclude(await page.content(), text)
  })

  it("finds a page by its name and a run by its pasted id, by keyboard alone", async () => {
    const { page, visit } = owner
    const client = world.api()
    const id = (await client.call("GET", "/api/v1/executions?page_size=1")).body.data[0].id
    await visit("/")
    await page.keyboard.press("Control+k")
    await page.keyboard.type("audit")
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { level: 1, name: "Audit" }).waitFor()
    await page.keyboard.press("Control+k")
    await page.keyboard.type(id)
    await page.keyboard.press("Enter")
    await page.waitForURL(`**/console/runs/${id}`)
  })
})

describe("a role", () => {
  it("sees what it permits: the rest is closed or disabled, with the permission's name", async () => {
    const invited = await world.api().call("POST", "/api/v1/users/invite", { email: "vic@example.com", role: "viewer" })
    assert.strictEqual(invited.status, 201, JSON.stringify(invited.body))
    const viewer = await visitorOf(browser, world.dataDir, { email: "vic@example.com" })
    await viewer.visit("/audit")
    await viewer.page.getByText("It takes the permission").waitFor()
    assert.include(await viewer.page.locator("main").innerText(), "settings:manage")
    await viewer.visit("/connections")
    const connect = viewer.page.getByRole("button", { name: "Connect an account" }).first()
    assert.strictEqual(await connect.getAttribute("aria-disabled"), "true")
    await connect.focus()
    await viewer.page.getByRole("tooltip", { name: "connections:create" }).waitFor()
    assert.deepStrictEqual(viewer.trouble(), [])
    await viewer.close()
  })
})

describe("a session", () => {
  it("that has ended shows nothing more: the page asks for a sign-in, and leads back to where it was", async () => {
    const { call, dev } = world.api()
    const invited = await call("POST", "/api/v1/users/invite", { email: "ex@example.com", role: "developer" })
    const expects = ["401 (Unauthorized)"]
    const leaver = await visitorOf(browser, world.dataDir, { email: "ex@example.com", expects })
    await leaver.visit("/events")
    await leaver.page.getByText("webhook").filter({ visible: true }).first().waitFor()
    assert.strictEqual((await call("DELETE", `/api/v1/users/${invited.body.data.userId}`)).status, 204)
    await leaver.page.waitForTimeout(1_000)
    const read = await leaver.page.evaluate(
      `fetch("/api/v1/events", { headers: { "x-svc-console": "1" } }).then(({ status }) => status)`
    )
    assert.strictEqual(read, 401)
    await leaver.page.getByRole("link", { name: "Customers" }).click()
    await leaver.page.waitForURL(`${dev.baseUrl}/login?next=%2Fconsole%2Fcustomers`)
    assert.deepStrictEqual(leaver.trouble(), [])
    await leaver.close()
  })
})

describe("text of tenants", () => {
  it("is text on every page: nothing of it runs", async () => {
    const { page, visit } = owner
    const { call, dev } = world.api()
    const hostile = `<img src=x onerror="globalThis.ran=1"><script>globalThis.ran=1</script>{{constructor}}`
    const customer = await call("POST", "/api/v1/customers", {
      name: hostile,
      tags: ["<b>tag</b>"],
      metadata: { [hostile]: hostile }
    })
    const made = await call("POST", "/api/v1/workflows", {
      name: "hostile",
      description: hostile,
      form: "code",
      tier: "instant",
      code: `export default async () => { console.log(${JSON.stringify(hostile)}); throw new Error(${JSON.stringify(hostile)}) }`
    })
    assert.deepStrictEqual([customer.status, made.status], [201, 201], JSON.stringify([customer.body, made.body]))
    await call("POST", `/api/v1/workflows/${made.body.data.id}/publish`, {})
    const run = await call("POST", `/api/v1/workflows/${made.body.data.id}/execute`, { input: { [hostile]: hostile } })
    const paths = [
      `/customers/${customer.body.data.id}`,
      "/customers",
      `/workflows/${made.body.data.id}`,
      `/runs/${run.body.executionId}`,
      `/runs/${run.body.executionId}?tab=log`,
      `/runs/${run.body.executionId}?tab=values`,
      `/customers/${customer.body.data.id}?tab=configuration`
    ]
    assert.strictEqual(dev.baseUrl, new URL(page.url()).origin)
    for (const path of paths) {
      await visit(path)
      await page
        .getByText("onerror")
        .first()
        .waitFor({ timeout: 5_000 })
        .catch(() => undefined)
      assert.isUndefined(await page.evaluate("globalThis.ran"), path)
      assert.strictEqual(await page.locator("main img[src=x]").count(), 0, path)
    }
  })
})
