/** Stripe's API: form bodies in, lists by `starting_after`, idempotency keys kept, errors with type and code. */
import { type FakeRequest, startFake, type Fake, type Reply, type Routes } from "./Fake.js"

type Item = Record<string, unknown>

const many = (count: number, prefix: string, more: Item): ReadonlyArray<Item> =>
  Array.from({ length: count }, (_, place) => ({ id: `${prefix}_${place + 1}`, ...more }))

const objects: Readonly<Record<string, ReadonlyArray<Item>>> = {
  customers: many(5, "cus", { object: "customer", name: "Ada", email: "ada@example.com" }),
  products: many(2, "prod", { object: "product", name: "Gold", active: true }),
  prices: many(2, "price", { object: "price", product: "prod_1", currency: "usd", unit_amount: 1000 }),
  invoices: many(2, "in", { object: "invoice", customer: "cus_1", status: "open", currency: "usd" }),
  invoiceitems: many(2, "ii", { object: "invoiceitem", amount: 5, currency: "usd" }),
  subscriptions: many(2, "sub", { object: "subscription", customer: "cus_1", status: "active" }),
  payment_intents: many(2, "pi", { object: "payment_intent", amount: 2000, currency: "usd", status: "succeeded" }),
  charges: many(2, "ch", { object: "charge", amount: 2000, currency: "usd", status: "succeeded" }),
  refunds: many(2, "re", { object: "refund", amount: 100, currency: "usd", status: "succeeded" }),
  events: many(2, "evt", { object: "event", type: "customer.created" }),
  webhook_endpoints: many(1, "we", { object: "webhook_endpoint", enabled_events: [] })
}

const no = (status: number, error: Item): Reply => ({ status, json: { error } })
const missing = (id: string) =>
  no(404, { type: "invalid_request_error", code: "resource_missing", message: `No such object: '${id}'`, param: "id" })

/** Members that Stripe requires of a new object, and members that no Stripe object has. */
const needs: Readonly<Record<string, ReadonlyArray<string>>> = {
  products: ["name"],
  payment_intents: ["amount", "currency"],
  prices: ["currency"],
  webhook_endpoints: ["url", "enabled_events[0]"]
}

const listed = (asked: FakeRequest): Reply => {
  const items = objects[asked.params["kind"] ?? ""] ?? []
  const after = asked.query.get("starting_after")
  const from = after === null ? 0 : items.findIndex((item) => item["id"] === after) + 1
  const data = items.slice(from, from + Number(asked.query.get("limit") ?? 10))
  return { json: { object: "list", url: asked.path, has_more: from + data.length < items.length, data } }
}

const found = (asked: FakeRequest): Item | undefined =>
  (objects[asked.params["kind"] ?? ""] ?? []).find((item) => item["id"] === asked.params["id"])

/** Decodes `address[line1]=…` to an object, to the depth that the tests need. */
const members = (form: URLSearchParams): Item => {
  const sent: Item = {}
  for (const [name, value] of form) {
    const [, outer = "", inner] = /^([^[]+)(?:\[([^\]]*)\])?/.exec(name) ?? []
    if (inner === undefined) sent[outer] = /^\d+$/.test(value) ? Number(value) : value
    else if (/^\d+$/.test(inner)) sent[outer] = [...((sent[outer] ?? []) as ReadonlyArray<string>), value]
    else sent[outer] = { ...(sent[outer] as Item | undefined), [inner]: value }
  }
  return sent
}

export const stripeFake = (): Promise<Fake> => {
  const replies = new Map<string, { readonly body: string; readonly reply: Reply }>()
  /** A repeated key gets the first answer. With another body it is an error, as in Stripe's API. */
  const once = (asked: FakeRequest, make: () => Reply): Reply => {
    const key = String(asked.headers["idempotency-key"] ?? "")
    if (key === "" || key.length > 255) return no(400, { type: "invalid_request_error", message: "idempotency key" })
    const kept = replies.get(key)
    if (kept === undefined) {
      const reply = make()
      replies.set(key, { body: asked.body, reply })
      return reply
    }
    return kept.body === asked.body
      ? { ...kept.reply, headers: { "idempotent-replayed": "true" } }
      : no(400, {
          type: "idempotency_error",
          message: "Keys for idempotent requests can only be used with the same parameters"
        })
  }
  const created = (asked: FakeRequest): Reply =>
    once(asked, () => {
      const kind = asked.params["kind"] ?? ""
      const form = asked.form()
      const lacking = (needs[kind] ?? []).find((name) => !form.has(name))
      if (lacking !== undefined) {
        return no(400, {
          type: "invalid_request_error",
          code: "parameter_missing",
          message: `Missing required param: ${lacking}.`,
          param: lacking
        })
      }
      // The answer has a subscription's items as a list object.
      const items = kind === "subscriptions" ? { items: { object: "list", data: [{ id: "si_1" }] } } : {}
      return { json: { ...objects[kind]?.[0], id: "new_1", ...members(form), ...items, secret: "whsec_1" } }
    })
  const updated = (asked: FakeRequest): Reply =>
    once(asked, () => {
      const item = found(asked)
      if (item === undefined) return missing(asked.params["id"] ?? "")
      const unknown = ["id", ...(asked.params["kind"] === "customers" ? ["payment_method"] : [])]
      const named = unknown.find((name) => asked.form().has(name))
      if (named !== undefined) {
        return no(400, {
          type: "invalid_request_error",
          code: "parameter_unknown",
          message: `Received unknown parameter: ${named}`
        })
      }
      return {
        json: { ...item, ...members(asked.form()), ...(asked.params["verb"] === "void" ? { status: "void" } : {}) }
      }
    })
  const routes: Routes = {
    "GET /v1/account": () => ({
      json: { id: "acct_1", email: "owner@example.com", settings: { dashboard: { display_name: "Acme" } } }
    }),
    "GET /v1/balance": () => ({
      json: { object: "balance", available: [{ amount: 5, currency: "usd" }], pending: [] }
    }),
    "GET /v1/:kind": listed,
    "POST /v1/:kind": created,
    "GET /v1/:kind/:id": (asked) => {
      const item = found(asked)
      return item === undefined ? missing(asked.params["id"] ?? "") : { json: item }
    },
    "POST /v1/:kind/:id": updated,
    "POST /v1/:kind/:id/:verb": updated,
    "DELETE /v1/subscriptions/:id": (asked) => ({
      json: { ...objects["subscriptions"]?.[0], id: asked.params["id"], status: "canceled" }
    }),
    "DELETE /v1/:kind/:id": (asked) => ({ json: { ...found(asked), id: asked.params["id"], deleted: true } })
  }
  return startFake({
    headers: () => ({ "request-id": "req_1" }),
    guard: (asked) => {
      if (asked.headers["stripe-version"] !== "2025-08-27.basil") return no(400, { message: "no version" })
      return asked.headers.authorization === "Bearer sk_test_fake"
        ? null
        : no(401, { type: "invalid_request_error", message: "Invalid API Key provided: sk_test_****" })
    },
    routes
  })
}
