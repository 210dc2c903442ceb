/**
 * The pages of workflows, triggers and releases in a browser: a draft is saved as it is typed and lost in no case, two people
 * see both of their texts, and what is published, deployed and fired is what the page showed.
 */
import { afterAll, afterEach, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Browser, Page } from "playwright-core"
import { startBrowser, type Visitor, visitorOf } from "../support/console/Browser.js"
import { eventually } from "../support/eventually.js"
import { worldOf } from "../support/World.js"

const world = worldOf({ allow: true })
let browser: Browser
let owner: Visitor

/** What a browser writes of requests that a test lets fail. */
const expects = ["Failed to load resource"]

beforeAll(async () => {
  await world.start()
  browser = await startBrowser()
  owner = await visitorOf(browser, world.dataDir, { expects })
})
afterEach(() => assert.deepStrictEqual(owner.trouble(), []))
afterAll(async () => {
  await browser.close()
  await world.stop()
})

const button = (name: string | RegExp, page: Page = owner.page) =>
  page.getByRole("button", { name, exact: typeof name === "string" })
const shows = (text: string | RegExp, page: Page = owner.page) => page.locator("main").getByText(text).first().waitFor()
const dialog = (name: string | RegExp) => owner.page.getByRole("dialog", { name })
const editorOf = (page: Page = owner.page) => page.getByRole("textbox", { name: /^(?:Code|Steps) of/ })

/** A workflow of its own, in the editor. */
const opened = async (name: string, code = "export default async () => 1\n") => {
  const { call } = world.api()
  const { id } = (await call("POST", "/api/v1/workflows", { name, form: "code", tier: "instant", code })).body.data
  await owner.visit(`/workflows/${id}`)
  await editorOf().waitFor()
  return id as string
}
const workflowOf = async (id: string) => (await world.api().call("GET", `/api/v1/workflows/${id}`)).body.data
const typeAtEnd = async (text: string, page: Page = owner.page) => {
  await editorOf(page).click()
  await page.keyboard.press("Control+End")
  await page.keyboard.type(text)
}
const savedWith = (id: string, text: string) =>
  eventually(
    async () => String((await workflowOf(id)).draft.code),
    (code) => code.includes(text)
  )

describe("a draft", () => {
  it("is saved as it is typed, with its mistakes, which are listed with their places", async () => {
    const id = await opened("typed")
    await typeAtEnd("// first words")
    await savedWith(id, "// first words")
    await shows(/^Draft saved/)
    await typeAtEnd("\nconst x = ")
    await shows("Unexpected token")
    await button(/^Line 3/).click()
    assert.lengthOf((await workflowOf(id)).problems, 1)
    await button("Publish …").click()
    await dialog("Publish “typed”").getByText("The draft has 1 problem").waitFor()
    assert.isTrue(await dialog("Publish “typed”").getByRole("button", { name: "Publish", exact: true }).isDisabled())
    await owner.page.keyboard.press("Escape")
  })

  it("is completed from the guest's API and the connectors, and lets the keyboard out", async () => {
    await opened("completed")
    const { page } = owner
    await editorOf().click()
    await page.keyboard.press("Control+a")
    await page.keyboard.type("export default async (ctx) => svc.connector.gith")
    await page
      .getByRole("option", { name: /^github/ })
      .first()
      .waitFor()
    await page.keyboard.type("ub.listIssues({ ow")
    await page.getByRole("option", { name: /^owner/ }).waitFor()
    await page.keyboard.press("Escape")
    await page.keyboard.press("Escape")
    await page.keyboard.press("Tab")
    assert.isFalse(await editorOf().evaluate((element) => element.matches(":focus")))
  })

  it("of a file that an earlier generation may have written shows both orders, and takes the earlier one", async () => {
    const action = (name: string, input: object = {}) => ({ name, type: "action", input })
    const steps = [action("order"), action("check"), action("pay", { of: "{{steps.order.output}}" })]
    const source = JSON.stringify({ name: "imported_order", steps })
    const { call } = world.api()
    const { id } = (await call("POST", "/api/v1/workflows", { import: { format: "flow.json", source } })).body.data
    await owner.visit(`/workflows/${id}`)
    const changed = owner.page.getByRole("table", { name: "Steps whose order has changed" })
    await changed.getByText("pay").waitFor()
    assert.deepStrictEqual(await changed.getByRole("row").last().getByRole("cell").allTextContents(), [
      "pay",
      "order",
      "check"
    ])
    await button("Keep the earlier order").click()
    await changed.waitFor({ state: "detached" })
    const { draft } = await workflowOf(id)
    assert.deepStrictEqual(draft.spec.steps[2].dependsOn, ["order"])
  })

  it("waits in the browser while the service is not reached, and is saved when it is", async () => {
    const id = await opened("unreached")
    await owner.context.setOffline(true)
    await typeAtEnd("// typed without a network")
    await shows(/Not saved, tried again soon/)
    await owner.context.setOffline(false)
    await savedWith(id, "// typed without a network")
    await shows(/^Draft saved/)
    assert.notInclude(await owner.page.evaluate("Object.keys(localStorage).join()"), id)
  })

  it("is offered again in another tab after one was closed before it was saved", async () => {
    const id = await opened("closed")
    const tab = await owner.context.newPage()
    await tab.goto(`/console/workflows/${id}`)
    await tab.route(
      (url) => url.pathname.includes(id) && url.search.includes("incomplete"),
      (route) => route.fulfill({ status: 500, json: { code: "INTERNAL", message: "broken" } })
    )
    await editorOf(tab).waitFor()
    await typeAtEnd("// typed before the end", tab)
    await shows(/tried again soon: broken/, tab)
    // Nothing leaves the tab any more, as when its process is killed.
    await tab.evaluate("window.fetch = () => new Promise(() => undefined)")
    await tab.close()
    await owner.visit("/workflows")
    await owner.visit(`/workflows/${id}`)
    await shows("Text of yours was not saved")
    await button("Use it").click()
    await savedWith(id, "// typed before the end")
    await owner.page.getByText("Text of yours was not saved").waitFor({ state: "detached" })
  })

  it("is saved over changed settings, and shows both texts where somebody else has changed it", async () => {
    const id = await opened("contested")
    const { call } = world.api()
    await call("PUT", `/api/v1/workflows/${id}`, { description: "changed elsewhere" })
    await typeAtEnd("// mine")
    await savedWith(id, "// mine")
    await typeAtEnd("\n// mine, too")
    await call("PUT", `/api/v1/workflows/${id}`, { code: "export default async () => 'theirs'\n" })
    await shows("Somebody else has changed this draft")
    assert.include((await workflowOf(id)).draft.code, "theirs")
    await button("Merge both").click()
    const mine = dialog("Merge both texts").getByRole("textbox", { name: /^Mine/ })
    await dialog("Merge both texts").getByRole("textbox", { name: "Theirs" }).getByText("theirs").waitFor()
    await mine.click()
    await owner.page.keyboard.press("Control+End")
    await owner.page.keyboard.type("\n// merged")
    await button("Save the text on the right").click()
    await savedWith(id, "// mine, too\n// merged")
    assert.include(await editorOf().textContent(), "// merged")
  })
})

describe("a workflow", () => {
  it("is published with what differs, published again in an earlier version, and its draft discarded", async () => {
    const id = await opened("released")
    const publish = async (expected: number) => {
      await button("Publish …").click()
      await dialog("Publish “released”").getByRole("button", { name: "Publish", exact: true }).click()
      await dialog(`Version ${expected} is published`).waitFor()
      await button("Done").click()
    }
    await publish(1)
    await typeAtEnd("// the second")
    await savedWith(id, "// the second")
    await shows(/^Draft saved/)
    await publish(2)
    await owner.page.getByRole("tab", { name: "Versions" }).click()
    await shows("Lines added")
    await button("Publish again …").click()
    await button("Publish version 1").click()
    await dialog("Version 1 is published").waitFor()
    await button("Done").click()
    assert.strictEqual((await workflowOf(id)).publishedVersion, 1)
    await button("More").click()
    await owner.page.getByRole("menuitem", { name: "Discard the draft …" }).click()
    await button("Discard the draft").click()
    const isFirst = ({ draft, versions }: Awaited<ReturnType<typeof workflowOf>>): boolean =>
      draft.contentHash === versions.at(-1).contentHash
    await eventually(() => workflowOf(id), isFirst)
  })

  it("goes back to its published contracts with its text, and keeps settings that others change meanwhile", async () => {
    const id = await opened("contracted")
    const { call } = world.api()
    await call("POST", `/api/v1/workflows/${id}/publish`, {})
    await owner.page.getByRole("tab", { name: "Settings" }).click()
    await owner.page.getByLabel("Description").fill("of the console")
    await call("PUT", `/api/v1/workflows/${id}`, { tier: "standard" })
    await button("Save the settings").click()
    await owner.page.getByText("The settings are saved.").waitFor()
    const { description, tier } = await workflowOf(id)
    assert.deepStrictEqual({ description, tier }, { description: "of the console", tier: "standard" })
    await owner.page.getByRole("tab", { name: "Contracts" }).click()
    await button("Begin with an example").first().click()
    await button("Save the contracts").click()
    await owner.page.getByText("The contracts are saved in the draft.").waitFor()
    assert.deepStrictEqual((await workflowOf(id)).inputContract.required, ["name"])
    await button("Publish …").click()
    await dialog("Publish “contracted”").getByText("Input contract, version 1").waitFor()
    await owner.page.keyboard.press("Escape")
    await button("More").click()
    await owner.page.getByRole("menuitem", { name: "Discard the draft …" }).click()
    await button("Discard the draft").click()
    await eventually(
      () => workflowOf(id),
      ({ inputContract }) => inputContract === null
    )
  })

  it("goes on saving when its page is left, and shows the same text when it is opened again", async () => {
    const id = await opened("left")
    await typeAtEnd("// typed and left")
    await owner.visit("/workflows")
    await owner.visit(`/workflows/${id}`)
    await editorOf().getByText("// typed and left").waitFor()
    await savedWith(id, "// typed and left")
    await shows(/^Draft saved/)
  })

  it("is tested as a draft, with an input that was typed", async () => {
    await opened("tested", "export default async (ctx) => ({ doubled: ctx.input.n * 2 })\n")
    await owner.page.getByRole("tab", { name: "Test" }).click()
    const input = owner.page.getByRole("textbox", { name: "Input" })
    await input.click()
    await owner.page.keyboard.press("Control+a")
    await owner.page.keyboard.type('{"n": 21')
    await button("Run").click()
    await owner.page.getByRole("region", { name: "output" }).getByText("42").waitFor()
  })
})

it("a webhook is created with a filter whose mistakes are shown, fired, and sent to with its key", async () => {
  const { call, dev } = world.api()
  const { page, visit } = owner
  await visit("/triggers/new")
  await page.getByLabel("Name", { exact: true }).fill("orders")
  await page.getByLabel("Workflow", { exact: true }).selectOption(dev.exampleWorkflowId)
  const filter = page.getByRole("textbox", { name: "Filter of route 1" })
  const typeFilter = async (text: string) => {
    await filter.click()
    await page.keyboard.press("Control+a")
    await page.keyboard.type(text)
  }
  await typeFilter('{"path":"total","op":"more","value":1')
  await button("Create").click()
  await shows(/op: must be "eq"/)
  await typeFilter('{"path":"total","op":"gt","value":1')
  await button("Create").click()
  const shown = dialog("The webhook's access key")
  const key = await shown.locator("code", { hasText: /^wak_/ }).textContent()
  await button("I have stored it").click()
  await page.getByRole("tab", { name: "Test" }).click()
  const payload = page.getByRole("textbox", { name: "Payload of the test" })
  await payload.click()
  await page.keyboard.press("Control+a")
  await page.keyboard.type('{"total":5')
  await button("Fire").click()
  await shows("accepted")
  await page.getByLabel("Access key").fill(key ?? "")
  await button("Send the payload").click()
  await shows(/^Answered 202/)
  await page.getByRole("tab", { name: "State" }).click()
  const [trigger] = (await call("GET", "/api/v1/triggers")).body.data
  assert.deepStrictEqual(trigger.routes[0].filter, { path: "total", op: "gt", value: 1 })
  await button("Disable").click()
  await page.locator("main header").getByText("disabled").waitFor()
})

it("where code editing is off, the editor is read-only from the start and says why, also to a role without settings", async () => {
  const { call, dev } = world.api()
  const child = (await call("POST", "/api/v1/organizations", { name: "Below", settings: { codeEditing: true } })).body
    .data
  const asChild = async (target: string, body: object) => {
    const headers = { "content-type": "application/json", authorization: `Bearer ${child.apiKey}` }
    const answer = await fetch(`${dev.baseUrl}/api/v1${target}`, {
      method: "POST",
      headers,
      body: JSON.stringify(body)
    })
    const made = JSON.parse(await answer.text())
    assert.strictEqual(answer.status, 201, JSON.stringify(made))
    return made.data
  }
  const code = "export default async () => 1"
  const { id } = await asChild("/workflows", { name: "theirs", form: "code", tier: "instant", code })
  const permissions = { workflows: ["read", "update", "create"] }
  await asChild("/roles", { name: "author", parent: "developer", permissions })
  await asChild("/users/invite", { email: "author@example.com", role: "author" })
  const off = await call("PUT", `/api/v1/organizations/${child.id}`, { settings: { codeEditing: false } })
  assert.strictEqual(off.status, 200, JSON.stringify(off.body))
  const author = await visitorOf(browser, world.dataDir, { email: "author@example.com" })
  await author.visit(`/workflows/${id}`)
  await shows(/^Code editing is disabled for this organisation/, author.page)
  const editor = editorOf(author.page)
  assert.strictEqual(await editor.getAttribute("aria-readonly"), "true")
  await typeAtEnd("// not mine", author.page)
  assert.strictEqual(await editor.innerText(), code)
  await author.visit("/workflows")
  await button("Create a workflow", author.page).first().click()
  await author.page
    .getByRole("dialog")
    .getByText(/[Cc]ode editing is disabled/)
    .waitFor()
  assert.deepStrictEqual(author.trouble(), [])
  await author.close()
})

it("a release is deployed to an environment, and rolled back", async () => {
  const { call, dev } = world.api()
  const { page, visit } = owner
  await visit("/environments")
  await button("Create an environment").click()
  await dialog("Create an environment").getByLabel("Name", { exact: true }).fill("Staging")
  await page.getByLabel("Slug").fill("staging")
  await button("Create").click()
  await page.getByRole("cell", { name: "staging", exact: true }).waitFor()
  await visit("/releases")
  await button("Create a release").first().click()
  await page.getByLabel(/^All published/).uncheck()
  await page.getByLabel("hello_world", { exact: true }).check()
  await page.getByLabel("Deploy at once to").selectOption("staging")
  await button("Create, and deploy to staging").click()
  await page.getByRole("heading", { level: 1, name: "Release 1" }).waitFor()
  const deployedIn = async () =>
    (await call("GET", `/api/v1/workflows/${dev.exampleWorkflowId}`)).body.data.deployments.map(
      ({ environment }: { readonly environment: string }) => environment
    )
  assert.include(await deployedIn(), "staging")
  // What is published there since goes only when the person has seen its name.
  const environments: ReadonlyArray<{ id: string; slug: string }> = (await call("GET", "/api/v1/environments")).body
    .data
  const staging = environments.find(({ slug }) => slug === "staging")
  await call("PUT", `/api/v1/environments/${staging?.id}`, { autoDeploy: true })
  const later = { name: "later", form: "code", code: "export default async () => 1" }
  const { id } = (await call("POST", "/api/v1/workflows", later)).body.data
  await call("POST", `/api/v1/workflows/${id}/publish`, {})
  await button("Roll back …").click()
  await button("Roll back").click()
  await page.getByRole("alert").getByText("later was deployed to staging since").waitFor()
  assert.include(await deployedIn(), "staging")
  await button("Roll back all the same").click()
  await page.getByRole("heading", { level: 1, name: "Release 2" }).waitFor()
  assert.notInclude(await deployedIn(), "staging")
})
