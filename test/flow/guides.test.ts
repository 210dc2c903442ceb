/** The guides are correct: the test sends every request that they show, in order, and runs the tutorial's workflow. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { requestsTo, scripts, startSharedCalls, stopCalls, svc, systems } from "../support/calls.js"
import { type Block, blocksOf } from "../support/guide.js"

beforeAll(async () => {
  await startSharedCalls()
  ledger()
})
afterAll(stopCalls)

const invoices = ["inv_1", "inv_2", "inv_3"].map((id) => ({ id, currency: "EUR", total: 1_990 }))

/** The example system of the guides. */
const ledger = () => {
  scripts.set("/v1/me", ({ headers }) =>
    String(headers["x-ledger-key"] ?? headers.authorization).includes("l")
      ? { body: { company: { name: "Shop 17" } } }
      : { status: 401, body: {} }
  )
  scripts.set("/v1/invoices", ({ body, url }) => {
    if (body !== "") return { body: JSON.parse(body).number === "" ? refusal : { id: "inv_9" } }
    const { searchParams } = new URL(url, systems.url)
    const [from, size] = [Number(searchParams.get("cursor") ?? 0), Number(searchParams.get("limit"))]
    const next = from + size < invoices.length ? String(from + size) : null
    return { body: { data: invoices.slice(from, from + size), next_cursor: next } }
  })
  scripts.set("/openapi.yaml", () => ({ body: openApi }))
  scripts.set("/oauth/token", () => ({ body: { access_token: "ledger-token", refresh_token: "r", expires_in: 3_600 } }))
}
const openApi = `openapi: 3.0.3
info: { title: Ledger, version: "2" }
servers: [{ url: https://api.ledger.example }]
paths:
  /companies/{company}/invoices:
    get: { operationId: listInvoices, responses: { "200": { description: ok } } }
`
const refusal = { ok: false, error: { code: "no_number", text: "an invoice has a number" } }

/** The system runs on this machine without TLS; its address is in the connection's config. */
const moved = (text: string) =>
  text
    .replaceAll("https://{{connection.config.company}}.ledger.example", "{{connection.config.company}}")
    .replace(', "pattern": "^[a-z0-9-]+$"', "")
    .replaceAll('"company": "shop17"', `"company": "${systems.url}"`)

const requestOf = ({ what }: Block) => /^(?:GET|POST|PUT|PATCH|DELETE) \/api\/v1\/\S+$/.exec(what)?.[0].split(" ")

/** The id of the connection in the last answer. */
let connection = ""

const send = async (method: string, path: string, text: string) => {
  const body = JSON.parse(moved(text).replaceAll("{id}", connection))
  const answer = await svc.ask(method, path.replace("{id}", connection), { key: svc.first.key, body })
  const id = answer.body?.data?.id
  if (typeof id === "string" && id.startsWith("conn_")) connection = id
  return answer
}

const follow = async (file: string) => {
  const requests = blocksOf(file).flatMap((block) => {
    const found = requestOf(block)
    return found === undefined ? [] : [{ ...block, method: found[0] ?? "", path: found[1] ?? "" }]
  })
  const answers = []
  for (const { method, path, place, text } of requests) {
    const answer = await send(method, path, text)
    assert.oneOf(answer.status, [200, 201], `${place}: ${answer.text}`)
    answers.push(answer)
  }
  return answers
}

const only = (file: string, kind: string): Block => {
  const [found, ...more] = blocksOf(file).filter(({ what }) => what === kind)
  assert.lengthOf(more, 0)
  assert.isDefined(found, `${file} has no block "${kind}"`)
  return found
}

describe("docs/connectors.md", () => {
  it("leads from an empty organisation to calls of an action, page by page and with an idempotency key", async () => {
    const made = await send("POST", "/api/v1/connectors", only("docs/connectors.md", "definition").text)
    assert.strictEqual(made.status, 201, made.text)
    const answers = await follow("docs/connectors.md")
    const connected = answers.find(({ body }) => body.data.id === connection)
    assert.deepInclude(connected?.body.data, { status: "active", accountLabel: "Shop 17" })
    const { text } = only("docs/connectors.md", "workflow")
    const run = await started(text)
    assert.deepStrictEqual([run.status, run.body], [200, { open: 3, made: "inv_9" }], run.text)
    assert.deepStrictEqual(
      requestsTo("/v1/invoices").map(({ url }) => url),
      ["/v1/invoices?status=sent&limit=2", "/v1/invoices?status=sent&limit=2&cursor=2", "/v1/invoices"]
    )
    const created = requestsTo("/v1/invoices").at(-1)
    assert.match(created?.key ?? "", /^[0-9a-f]{64}$/)
    assert.match(String(created?.headers["x-ledger-key"]), /^lk_live_51/)
    assert.deepStrictEqual((await started(text.replace('"A-18"', '""'))).body, {
      open: 3,
      refused: "ledger.createInvoice: an invoice has a number",
      category: "provider"
    })
    assert.strictEqual((await started(text, { mock: "full" })).body.open, 1)
  })

  it("imports from a URL", async () => {
    const { text } = only("docs/connectors.md", "import")
    const body = JSON.parse(text.replace("https://ledger.example", systems.url))
    const made = await svc.ask("POST", "/api/v1/connectors", { key: svc.first.key, body })
    assert.strictEqual(made.status, 201, made.text)
    const [action] = made.body.data.actions
    assert.deepInclude(action, { name: "listInvoices", readOnly: true })
    assert.deepInclude(action.request, { path: "/companies/{{args.company}}/invoices" })
  })

  it("names the address of the schema that an editor reads", async () => {
    const { $schema } = JSON.parse(only("docs/connectors.md", "definition").text)
    const served = await svc.ask("GET", new URL($schema).pathname)
    assert.strictEqual(served.text, readFileSync("docs/connector.schema.json", "utf8"))
  })

  it("exports a definition that can be saved again", async () => {
    const exported = await svc.ask("GET", "/api/v1/connectors/ledger/export", { key: svc.first.key })
    assert.notProperty(exported.body, "$schema")
    const again = await svc.ask("POST", "/api/v1/connectors", {
      key: svc.first.key,
      body: { ...exported.body, slug: "ledger-again" }
    })
    assert.strictEqual(again.status, 201, again.text)
  })
})

describe("docs/connections.md", () => {
  it("shows a request through the proxy", async () => {
    const { text = "" } = blocksOf("docs/connections.md").find((block) => block.text.includes("/proxy/")) ?? {}
    const [, path = ""] = /\$BASE(\S+)"/.exec(text) ?? []
    const own = [...text.matchAll(/-H '([\w-]+): ([^']+)'/g)].map(([, name = "", value = ""]) => [name, value])
    assert.lengthOf(own, 2)
    const headers = { authorization: `Bearer ${svc.first.key}`, ...Object.fromEntries(own) }
    const answer = await svc.ask("GET", path, { headers })
    assert.deepStrictEqual([answer.status, answer.body], [200, { data: invoices, next_cursor: null }])
  })

  it("shows requests that succeed, and a link that connects", async () => {
    const answers = await follow("docs/connections.md")
    const opened = answers.filter(({ body }) => body.data.connectUrl !== undefined)
    assert.lengthOf(opened, 2)
    const { connectUrl, id, status } = opened[0]?.body.data ?? {}
    assert.strictEqual(status, "pending")
    const away = await svc.ask("GET", new URL(connectUrl).pathname)
    assert.strictEqual(away.status, 303, away.text)
    const provider = new URL(away.headers["location"] ?? "")
    assert.strictEqual(provider.pathname, "/oauth/authorize")
    const state = provider.searchParams.get("state")
    const callback = new URL(provider.searchParams.get("redirect_uri") ?? "")
    const [cookie = ""] = (away.headers["set-cookie"] ?? "").split(";")
    const back = await svc.ask("GET", `${callback.pathname}?code=c&state=${state}`, { headers: { cookie } })
    assert.include(back.text, "svc:connection-created")
    const connected = await svc.ask("GET", `/api/v1/connections/${id}`, { key: svc.first.key })
    assert.deepInclude(connected.body.data, { status: "active", authMethod: "oauth", accountLabel: "Shop 17" })
  })
})

let runs = 0
const started = async (code: string, more: object = {}) => {
  const key = svc.first.key
  const body = { name: `guide_${(runs += 1)}`, form: "code", tier: "instant", code }
  const made = await svc.ask("POST", "/api/v1/workflows", { key, body })
  const at = `/api/v1/workflows/${made.body.data.id}`
  const published = await svc.ask("POST", `${at}/publish`, { key, body: {} })
  assert.strictEqual(published.status, 200, published.text)
  return svc.ask("POST", `${at}/execute`, {
    key,
    body: { input: {}, ...more },
    headers: { "x-end-org-id": "ref:shop-17" }
  })
}
