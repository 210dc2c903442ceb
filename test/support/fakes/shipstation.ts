/** ShipStation's V1 API: Basic, pages with their number, forty requests a minute in every answer. */
import { type FakeRequest, startFake, type Fake, type Reply, slice } from "./Fake.js"

type Item = Record<string, unknown>

const many = (make: (n: number) => Item): ReadonlyArray<Item> => [1, 2, 3, 4, 5].map(make)

const home = { name: "Ada", street1: "12 Mill St", city: "Austin", state: "TX", postalCode: "78703", country: "US" }
const orders = many((n) => ({
  orderId: n,
  orderNumber: `O${n}`,
  orderKey: `k${n}`,
  orderDate: "2026-11-01T08:46:27.0000000",
  orderStatus: "awaiting_shipment",
  billTo: home,
  shipTo: home
}))
const shipments = many((n) => ({
  shipmentId: n,
  orderId: 1,
  trackingNumber: `T${n}`,
  carrierCode: "ups",
  voided: false
}))
const products = many((n) => ({ productId: n, sku: `S${n}`, name: `P${n}`, active: true }))
const customers = many((n) => ({ customerId: n, name: `C${n}`, email: null }))

const paged = (asked: FakeRequest, key: string, items: ReadonlyArray<Item>): Reply => {
  const at = Number(asked.query.get("page") ?? 1)
  const size = Number(asked.query.get("pageSize") ?? 100)
  if (size > 500) return { status: 400, json: { Message: "The pageSize must be 500 or less" } }
  const { page } = slice(items, (at - 1) * size, size)
  return { json: { [key]: page, total: items.length, page: at, pages: Math.ceil(items.length / size) } }
}

const one = (asked: FakeRequest, key: string, items: ReadonlyArray<Item>): Reply => {
  const found = items.find((item) => String(item[key]) === asked.params["id"])
  return found === undefined ? { status: 404, json: { Message: "API resource not found" } } : { json: found }
}

/** Creates an order, or changes the one with the same key. */
const ordered = (asked: FakeRequest): Reply => {
  const sent = asked.json()
  for (const name of ["orderNumber", "orderDate", "orderStatus", "billTo", "shipTo"]) {
    if (sent[name] === undefined) {
      return { status: 400, json: { Message: `The request is invalid. ${name} is required.` } }
    }
  }
  const known = orders.find((order) => order["orderKey"] === sent["orderKey"])
  return { json: { orderId: 99, orderKey: "made", ...known, ...sent } }
}

export const shipstationFake = (): Promise<Fake> => {
  let left = 40
  return startFake({
    headers: () => ({
      "x-rate-limit-limit": "40",
      "x-rate-limit-remaining": String((left = left > 0 ? left - 1 : 40)),
      "x-rate-limit-reset": "22"
    }),
    guard: (asked) =>
      asked.headers.authorization === `Basic ${Buffer.from("key:secret").toString("base64")}`
        ? null
        : { status: 401, text: "401 Unauthorized" },
    routes: {
      "GET /stores": () => ({ json: [{ storeId: 1, storeName: "Acme" }] }),
      "GET /orders": (asked) => paged(asked, "orders", orders),
      "GET /orders/:id": (asked) => one(asked, "orderId", orders),
      "POST /orders/createorder": ordered,
      "POST /orders/markasshipped": (asked) => ({ json: { orderId: asked.json()["orderId"], orderNumber: "O1" } }),
      "POST /orders/createlabelfororder": (asked) => {
        const needed = ["orderId", "carrierCode", "serviceCode", "confirmation", "shipDate", "testLabel"]
        const lacking = needed.find((name) => asked.json()[name] === undefined)
        return lacking === undefined
          ? { json: { shipmentId: 9, trackingNumber: "T9", labelData: "JVBERi0=" } }
          : { status: 400, json: { Message: `The request is invalid. ${lacking} is required.` } }
      },
      "DELETE /orders/:id": () => ({ json: { success: true, message: "The requested order has been deleted" } }),
      "GET /shipments": (asked) => paged(asked, "shipments", shipments),
      "POST /shipments/voidlabel": () => ({ json: { approved: true, message: "Label voided successfully" } }),
      "POST /shipments/getrates": (asked) => ({
        json: [{ serviceName: "Ground", serviceCode: `${String(asked.json()["carrierCode"])}_ground`, shipmentCost: 8 }]
      }),
      "GET /fulfillments": (asked) =>
        paged(
          asked,
          "fulfillments",
          many((n) => ({ fulfillmentId: n, orderId: n }))
        ),
      "GET /products": (asked) => paged(asked, "products", products),
      "GET /products/:id": (asked) => one(asked, "productId", products),
      "GET /customers": (asked) => paged(asked, "customers", customers),
      "GET /customers/:id": (asked) => one(asked, "customerId", customers),
      "GET /carriers": () => ({ json: [{ name: "UPS", code: "ups" }] }),
      "GET /carriers/listservices": (asked) => ({
        json: [{ carrierCode: asked.query.get("carrierCode"), code: "ups_ground", name: "Ground" }]
      }),
      "GET /warehouses": () => ({ json: [{ warehouseId: 1, warehouseName: "Main" }] }),
      "GET /webhooks": () => ({ json: { webhooks: [] } }),
      "POST /webhooks/subscribe": (asked) =>
        asked.json()["target_url"] === undefined ? { status: 400, json: { Message: "url" } } : { json: { id: 7 } },
      "DELETE /webhooks/:id": () => ({ status: 200 })
    }
  })
}
