/**
 * The Admin REST API of one Shopify shop: pages by Link header with `page_info`, the rate limit's bucket in every
 * answer.
 */
import { type FakeRequest, startFake, type Fake, type Reply, type Routes, slice } from "./Fake.js"

const base = "/admin/api/2026-07"
const token = "shpat_fake"

const named = (count: number, make: (place: number) => Record<string, unknown>) =>
  Array.from({ length: count }, (_, place) => make(place + 1))

const products = named(5, (n) => ({
  id: n,
  title: `Product ${n}`,
  status: "active",
  variants: [{ id: n * 10, sku: `S${n}` }]
}))
const customers = named(3, (n) => ({ id: n, email: `c${n}@example.com`, first_name: `C${n}` }))
const orders = named(3, (n) => ({ id: n, name: `#100${n}`, financial_status: "paid", line_items: [] }))
const levels = named(3, (n) => ({ inventory_item_id: n, location_id: 7, available: n * 2 }))
const fulfillments = named(2, (n) => ({ id: n, order_id: 1, status: "success", tracking_number: `T${n}` }))

/** A page as Shopify returns it. With `page_info`, only `limit` and `fields` are allowed as further parameters. */
const page = (asked: FakeRequest, origin: string, name: string, items: ReadonlyArray<unknown>): Reply => {
  const info = asked.query.get("page_info")
  const others = [...asked.query.keys()].filter((key) => !["page_info", "limit", "fields"].includes(key))
  if (info !== null && others.length > 0) {
    return { status: 400, json: { errors: { [others[0] ?? ""]: "cannot be passed when page_info is present" } } }
  }
  const from = info === null ? 0 : Number(Buffer.from(info, "base64url").toString())
  const size = Number(asked.query.get("limit") ?? 50)
  const { page, more } = slice(items, from, size)
  const next = Buffer.from(String(from + size)).toString("base64url")
  const link = `<${origin}${asked.path}?limit=${size}&page_info=${next}>; rel="next"`
  return { json: { [name]: page }, ...(more ? { headers: { link } } : {}) }
}

const one = (name: string, items: ReadonlyArray<Record<string, unknown>>, id: string | undefined): Reply => {
  const found = items.find((item) => String(item["id"]) === id)
  return found === undefined ? { status: 404, json: { errors: "Not Found" } } : { json: { [name]: found } }
}

/** The member of the body with that name, with an id added. Answers Shopify's 422 if the member `needs` is missing. */
const made = (asked: FakeRequest, name: string, needs?: string): Reply => {
  const sent = asked.json()[name] as Record<string, unknown> | undefined
  if (sent === undefined) return { status: 400, json: { errors: { [name]: "Required parameter missing or invalid" } } }
  if (needs !== undefined && sent[needs] === undefined) {
    return { status: 422, json: { errors: { [needs]: ["can't be blank"] } } }
  }
  return { status: asked.method === "POST" ? 201 : 200, json: { [name]: { id: asked.params["id"] ?? 99, ...sent } } }
}

const changed = (asked: FakeRequest, name: string, items: ReadonlyArray<Record<string, unknown>>): Reply => {
  const found = items.find((item) => String(item["id"]) === asked.params["id"])
  const sent = asked.json()[name] as Record<string, unknown>
  return found === undefined
    ? { status: 404, json: { errors: "Not Found" } }
    : { json: { [name]: { ...found, ...sent } } }
}

const at = (routes: Routes): Routes =>
  Object.fromEntries(Object.entries(routes).map(([route, answer]) => [route.replace(" ", ` ${base}`), answer]))

export const shopifyFake = (): Promise<Fake> => {
  let used = 0
  return startFake({
    headers: () => ({ "x-shopify-shop-api-call-limit": `${++used}/40` }),
    guard: (asked) =>
      asked.headers["x-shopify-access-token"] === token
        ? null
        : {
            status: 401,
            json: { errors: "[API] Invalid API key or access token (unrecognized login or wrong password)" }
          },
    routes: at({
      "GET /shop.json": () => ({ json: { shop: { id: 1, name: "Acme", myshopify_domain: "acme.myshopify.com" } } }),
      "GET /products.json": (asked, origin) => page(asked, origin, "products", products),
      "GET /products/:id.json": (asked) => one("product", products, asked.params["id"]),
      "POST /products.json": (asked) => made(asked, "product", "title"),
      "PUT /products/:id.json": (asked) => changed(asked, "product", products),
      "DELETE /products/:id.json": () => ({ json: {} }),
      "GET /customers.json": (asked, origin) => page(asked, origin, "customers", customers),
      "GET /customers/search.json": (asked, origin) =>
        page(
          asked,
          origin,
          "customers",
          customers.filter((one) => `email:${one["email"]}` === asked.query.get("query"))
        ),
      "GET /customers/:id.json": (asked) => one("customer", customers, asked.params["id"]),
      "POST /customers.json": (asked) => made(asked, "customer"),
      "PUT /customers/:id.json": (asked) => changed(asked, "customer", customers),
      "GET /orders.json": (asked, origin) =>
        page(
          asked,
          origin,
          "orders",
          asked.query.get("fields") === "id,fulfillments"
            ? orders.map(({ id }) => ({ id, fulfillments: id === 1 ? fulfillments : [] }))
            : orders
        ),
      "DELETE /customers/:id.json": () => ({ json: {} }),
      "DELETE /orders/:id.json": () => ({ json: {} }),
      "GET /orders/:id.json": (asked) => one("order", orders, asked.params["id"]),
      "POST /orders.json": (asked) => made(asked, "order", "line_items"),
      "PUT /orders/:id.json": (asked) => changed(asked, "order", orders),
      "POST /orders/:id/cancel.json": (asked) => ({
        json: { order: { id: asked.params["id"], cancelled_at: "2026-11-03T09:00:00Z", ...asked.json() } }
      }),
      "GET /orders/:id/fulfillment_orders.json": () => ({ json: { fulfillment_orders: [{ id: 5, status: "open" }] } }),
      "GET /orders/:order/fulfillments.json": (asked, origin) => page(asked, origin, "fulfillments", fulfillments),
      "GET /orders/:order/fulfillments/:id.json": (asked) => one("fulfillment", fulfillments, asked.params["id"]),
      "POST /fulfillments.json": (asked) => made(asked, "fulfillment", "line_items_by_fulfillment_order"),
      "POST /fulfillments/:id/update_tracking.json": (asked) => made(asked, "fulfillment", "tracking_info"),
      "GET /locations.json": () => ({ json: { locations: [{ id: 7, name: "Ottawa" }] } }),
      "GET /inventory_levels.json": (asked, origin) =>
        asked.query.has("location_ids") || asked.query.has("inventory_item_ids") || asked.query.has("page_info")
          ? page(asked, origin, "inventory_levels", levels)
          : { status: 422, json: { errors: ["inventory_item_ids or location_ids must be present"] } },
      "POST /inventory_levels/set.json": (asked) => ({ json: { inventory_level: asked.json() } }),
      "POST /inventory_levels/adjust.json": (asked) => ({
        json: { inventory_level: { location_id: 7, available: 12 + Number(asked.json()["available_adjustment"]) } }
      }),
      "POST /webhooks.json": (asked) => made(asked, "webhook", "topic"),
      "DELETE /webhooks/:id.json": () => ({ json: {} })
    })
  })
}
