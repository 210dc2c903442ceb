/**
 * Fills a service with what a small company would have after some days: customers, connections, workflows of both forms, runs
 * that ended in each way, events, a dead letter, an approval that waits, a key. `ConsolePages.ts` adds what one page alone shows.
 */
import type { Answer, Api } from "../api.js"
import { eventually } from "../eventually.js"
import { startProvider, type Provider } from "../provider.js"

/** Ids of some records. */
export interface Seeded {
  readonly workflow: string
  readonly flow: string
  readonly completed: string
  readonly failed: string
  readonly waiting: string
  readonly manyCalls: string
  readonly connection: string
  readonly trigger: string
  readonly event: string
  readonly deadLetter: string
  readonly customer: string
  readonly key: string
  readonly close: () => Promise<void>
}

const syncCode = `/** Copies the newest orders of a shop into its books. */
export default async (ctx) => {
  const { orders } = await svc.step("read_orders", {}, (svc) => svc.connector.shop.list_orders({ since: ctx.input.since ?? "2026-11-01" }))
  console.log(\`\${orders.length} orders\`)
  const posted = []
  for (const order of orders) {
    const answer = await svc.step("post_invoice", { retry: { maxAttempts: 3 } }, (svc) => svc.connector.shop.post_invoice({ id: order.id, total: order.total }))
    posted.push(answer.number)
  }
  return { posted }
}
`
const failingCode = `export default async (ctx) => {
  const answer = await svc.connector.shop.get_stock({ sku: ctx.input.sku })
  return answer.quantity
}
`
const manyCode = `export default async (ctx) => {
  let sum = 0
  for (let n = 0; n < ctx.input.calls; n++) sum += (await svc.connector.shop.ping({ n })).n
  return { sum }
}
`

const flowSpec = {
  steps: [
    { name: "orders", type: "action", connector: "shop", action: "list_orders", input: { since: "{{input.since}}" } },
    {
      name: "each",
      type: "loop",
      config: {
        over: "{{steps.orders.output.orders}}",
        steps: [
          {
            name: "invoice",
            type: "action",
            connector: "shop",
            action: "post_invoice",
            mapping: { id: "{{item.id}}", total: "{{item.total}}" },
            retry: { maxAttempts: 3 }
          }
        ]
      }
    },
    { name: "pause", type: "wait", config: { durationMs: 50 } },
    { name: "sum", type: "action", mapping: { posted: "{{steps.each.output.results}}" } }
  ],
  response: { success: { body: { posted: "{{steps.sum.output.posted}}" } } }
}

/** A shop, whose provider is at `url`. */
export const shopConnector = (url: string) => ({
  svcConnector: 1,
  slug: "shop",
  name: "Shop",
  kind: "ecommerce",
  version: "1.0.0",
  baseUrl: url,
  auth: [
    {
      id: "key",
      type: "api_key",
      default: true,
      inject: [{ in: "header", name: "x-shop-key", value: "{{credential.apiKey}}" }]
    }
  ],
  test: { action: "ping", args: { n: 1 } },
  retry: { maxAttempts: 2 },
  actions: [
    {
      name: "list_orders",
      version: 1,
      title: "List orders",
      request: { method: "GET", path: "/orders", query: { since: "{{args.since}}" } }
    },
    {
      name: "post_invoice",
      version: 1,
      title: "Post an invoice",
      idempotency: { header: "Idempotency-Key" },
      request: { method: "POST", path: "/invoices", body: { order: "{{args.id}}", total: "{{args.total}}" } }
    },
    {
      name: "get_stock",
      version: 1,
      title: "Read a product's stock",
      request: { method: "GET", path: "/stock/{{args.sku}}" }
    },
    { name: "ping", version: 1, title: "Ping", request: { method: "GET", path: "/ping", query: { n: "{{args.n}}" } } }
  ]
})

/** The provider of the seeded connector: orders, invoices of which each third fails once, and a stock that is always away. */
export const startShop = (): Promise<Provider> => {
  let invoices = 0
  return startProvider((request, response) => {
    const url = new URL(request.url, "http://shop")
    const reply = (status: number, body: object) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
    if (url.pathname === "/orders")
      return reply(200, {
        orders: ["S-1024", "S-1025", "S-1026", "S-1027"].map((id, n) => ({
          id,
          total: `${(n + 1) * 103.75}`,
          currency: "EUR"
        }))
      })
    if (url.pathname === "/invoices") {
      invoices += 1
      return invoices % 5 === 3 ? reply(503, { error: "busy" }) : reply(201, { number: `R-${2000 + invoices}` })
    }
    if (url.pathname === "/ping") return reply(200, { n: Number(url.searchParams.get("n")) })
    return reply(500, { error: "stock service unavailable <img src=x onerror=alert(1)>" })
  })
}

/** Creates a record; gives what the answer shows of it. */
export const createBy =
  ({ call }: Api) =>
  async (target: string, body: object, method = "POST"): Promise<Answer["body"]> => {
    const { status, body: answer } = await call(method, target, body)
    if (status > 202) throw new Error(`${target}: ${status} ${JSON.stringify(answer)}`)
    return answer?.data
  }

/** `calls`: how many calls the run of many calls makes. */
export const seed = async (client: Api, { calls = 300 }: { readonly calls?: number } = {}): Promise<Seeded> => {
  const shop = await startShop()
  const created = createBy(client)
  await created("/api/v1/connectors", shopConnector(shop.url))
  await created("/api/v1/connectors/shop/publish", {})
  const customers = []
  for (const [name, ref] of [
    ["Nordlicht Bikes", "nordlicht"],
    ["Café Amsel", "amsel"],
    ["Harbour Tools", "harbour"]
  ])
    customers.push((await created("/api/v1/customers", { name, externalRef: ref, tags: ["pilot"] })).id)
  const [customer = ""] = customers
  const connections = []
  for (const customerId of customers)
    connections.push(
      (
        await created("/api/v1/connections", {
          connector: "shop",
          customerId,
          authMethod: "key",
          credential: { apiKey: `key of ${customerId}` }
        })
      ).id
    )
  await created(`/api/v1/connections/${connections[2]}/disable`, {})
  const workflow = await client.workflow("orders-to-books", "standard", syncCode, {
    description: "Copies orders of the shop into the books"
  })
  const failing = await client.workflow("check-stock", "standard", failingCode)
  const many = await client.workflow("ping-many", "standard", manyCode)
  const approve = await client.workflow(
    "refund",
    "long",
    `export default async (ctx) => {
  const { decision } = await svc.approval("refund", { message: "Refund " + ctx.input.amount + " EUR?", approvers: ["owner@localhost"] })
  return { decision }
}`
  )
  const flow = (
    await created("/api/v1/workflows", { name: "order_flow", form: "steps", tier: "standard", spec: flowSpec })
  ).id
  await created(`/api/v1/workflows/${flow}/publish`, {})
  const start = async (id: string, input: object, customerRef: string) => {
    const answer = await client.call(
      "POST",
      `/api/v1/workflows/${id}/execute`,
      { input },
      { "x-end-org-ref": customerRef }
    )
    if (answer.status > 202) throw new Error(`execute: ${answer.status} ${JSON.stringify(answer.body)}`)
    return String(answer.body.executionId ?? answer.body.data?.executionId ?? answer.body.id)
  }
  const runs = []
  for (let n = 0; n < 12; n++)
    runs.push(await start(workflow, { since: `2026-11-${10 + n}` }, n % 2 === 0 ? "nordlicht" : "amsel"))
  runs.push(await start(flow, { since: "2026-11-20" }, "nordlicht"))
  const failed = await start(failing, { sku: "B-17" }, "nordlicht")
  const manyCalls = await start(many, { calls }, "nordlicht")
  const waiting = await start(approve, { amount: 120 }, "amsel")
  const trigger = await created("/api/v1/triggers", {
    type: "webhook",
    name: "orders",
    webhook: { auth: "public" },
    routes: [{ workflowId: workflow, filter: { path: "total", op: "gt", value: 10 } }]
  })
  await created("/api/v1/triggers", {
    type: "schedule",
    name: "every night",
    schedule: { mode: "cron", cron: "30 2 * * *", timezone: "Europe/Berlin" },
    routes: [{ workflowId: workflow }]
  })
  const send = async (body: object) => {
    const answer = await client.call("POST", new URL(trigger.webhook.url).pathname, body)
    return String(answer.body.eventId)
  }
  const event = await send({ orderId: "S-1024", total: 414.95, note: "<script>alert(1)</script>" })
  await send({ orderId: "S-1025", total: 3 })
  const failingTrigger = await created("/api/v1/triggers", {
    type: "webhook",
    name: "stock",
    webhook: { auth: "public" },
    routes: [{ workflowId: failing }]
  })
  await client.call("POST", new URL(failingTrigger.webhook.url).pathname, { sku: "B-17" })
  const issued = await created("/api/v1/api-keys", { name: "shop backend", preset: "full_access" })
  const draft = (await client.call("GET", `/api/v1/workflows/${workflow}`)).body.data
  // By another author, so that the earlier draft is kept.
  const saved = await client.call(
    "PUT",
    `/api/v1/workflows/${workflow}`,
    { code: `${syncCode}\n`, version: draft.version },
    { authorization: `Bearer ${issued.key}`, "x-svc-test-mode": "true" }
  )
  if (saved.status > 201) throw new Error(JSON.stringify(saved.body))
  for (const id of [...runs, failed, manyCalls]) await client.ended(id, 60_000)
  const letters = await eventually(
    async () => (await client.call("GET", "/api/v1/dlq")).body?.data ?? [],
    (found) => found.length > 0
  )
  return {
    workflow,
    flow,
    completed: runs[0] ?? "",
    failed,
    waiting,
    manyCalls,
    connection: connections[0] ?? "",
    trigger: trigger.id,
    event,
    deadLetter: letters[0]?.id ?? "",
    customer,
    key: issued.id,
    close: shop.close
  }
}
