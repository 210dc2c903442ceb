import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { readRateHeaders } from "../../../src/domain/connector/request/RateReading.js"
import { shopify as builtIn } from "../../../src/domain/connectors/shopify/Shopify.js"
import {
  anything,
  makeCaller,
  type Caller,
  hasItems,
  callEveryAction,
  hasMembers,
  objectOf
} from "../../support/ConnectorCaller.js"
import type { Fake } from "../../support/fakes/Fake.js"
import { shopifyFake } from "../../support/fakes/shopify.js"

const shopify = builtIn.definition()

let api: Fake
let acme: Caller
const config = { shop: "acme" }

beforeAll(async () => {
  api = await shopifyFake()
  acme = makeCaller(shopify, api.origin, { method: "token", credential: { accessToken: "shpat_fake" }, config })
})
afterAll(() => api.close())

describe("Shopify", () => {
  it("answers every action", () =>
    callEveryAction(shopify, acme, {
      getShop: [{}, hasMembers({ name: "Acme" })],
      listProducts: [{ ids: [1, 2], status: "active", limit: 2 }, hasItems("products", 2)],
      getProduct: [{ id: 3 }, hasMembers({ id: 3, title: "Product 3" })],
      createProduct: [{ title: "Hat", variants: [{ price: "9.50" }] }, hasMembers({ id: 99, title: "Hat" })],
      updateProduct: [{ id: 3, status: "draft" }, hasMembers({ status: "draft" })],
      deleteProduct: [{ id: 3 }, anything],
      deleteCustomer: [{ id: 3 }, anything],
      deleteOrder: [{ id: 3 }, anything],
      listAllFulfillments: [{}, hasItems("orders", 3)],
      listCustomers: [{}, hasItems("customers", 3)],
      searchCustomers: [{ query: "email:c2@example.com" }, hasItems("customers", 1)],
      getCustomer: [{ id: "2" }, hasMembers({ email: "c2@example.com" })],
      createCustomer: [{ email: "x@example.com", first_name: "X" }, hasMembers({ email: "x@example.com" })],
      updateCustomer: [{ id: 2, last_name: "Y" }, hasMembers({ last_name: "Y" })],
      listOrders: [{ status: "open" }, hasItems("orders", 3)],
      getOrder: [{ id: 1 }, hasMembers({ name: "#1001" })],
      createOrder: [{ line_items: [{ variant_id: 10, quantity: 1 }] }, hasMembers({ id: 99 })],
      updateOrder: [{ id: 1, note: "Gift" }, hasMembers({ note: "Gift" })],
      cancelOrder: [{ id: 1, reason: "customer" }, hasMembers({ reason: "customer" })],
      listFulfillmentOrders: [{ order_id: 1 }, hasItems("fulfillment_orders", 1)],
      listFulfillments: [{ order_id: 1 }, hasItems("fulfillments", 2)],
      getFulfillment: [{ order_id: 1, id: 2 }, hasMembers({ tracking_number: "T2" })],
      createFulfillment: [{ line_items_by_fulfillment_order: [{ fulfillment_order_id: 5 }] }, hasMembers({ id: 99 })],
      updateTracking: [{ id: 2, tracking_info: { number: "1Z" } }, hasMembers({ tracking_info: { number: "1Z" } })],
      listLocations: [{}, hasItems("locations", 1)],
      listInventoryLevels: [{ location_ids: [7] }, hasItems("inventory_levels", 3)],
      setInventoryLevel: [{ inventory_item_id: 1, location_id: 7, available: 0 }, hasMembers({ available: 0 })],
      adjustInventoryLevel: [
        { inventory_item_id: 1, location_id: 7, available_adjustment: -2 },
        hasMembers({ available: 10 })
      ],
      createWebhook: [{ topic: "orders/create", address: "https://svc.example/hook" }, hasMembers({ format: "json" })],
      deleteWebhook: [{ id: 4 }, anything]
    }))

  it("follows the link to the next page without the filters, which Shopify refuses beside page_info", async () => {
    const pages = await acme.pages("listProducts", { limit: 2, status: "active" })
    assert.deepStrictEqual(
      pages.map((page) => page.map((item) => objectOf(item)["id"])),
      [[1, 2], [3, 4], [5]]
    )
  })

  it("writes lists in the query with commas, and leaves out what is not given", async () => {
    await acme.result("listProducts", { ids: [1, 2] })
    assert.deepStrictEqual(
      [...(api.asked.at(-1)?.query ?? [])],
      [
        ["limit", "250"],
        ["ids", "1,2"]
      ]
    )
  })

  it("tells what the shop refuses, with the shop's words", async () => {
    const refused = await acme.failure("createProduct", { vendor: "Acme" })
    assert.deepInclude(refused, { category: "provider", status: 422 })
    assert.include(refused.message, "can't be blank")
    assert.deepInclude(await acme.failure("getProduct", { id: 404 }), { status: 404, message: "Not Found" })
  })

  it("tells a refused token as a failure of the credential", async () => {
    const stranger = makeCaller(shopify, api.origin, { method: "token", credential: { accessToken: "no" }, config })
    assert.deepInclude(await stranger.failure("getShop"), { category: "auth", status: 401 })
  })

  it("reads the bucket and how long to wait", async () => {
    const answer = await acme.answer("getShop")
    const used = Number(answer.headers.find(([name]) => name === "x-shopify-shop-api-call-limit")?.[1]?.split("/")[0])
    assert.deepInclude(readRateHeaders(shopify, answer.headers, 0), { limit: 40, remaining: 40 - used })
    api.plan({ status: 429, headers: { "retry-after": "2.0" }, json: { errors: "Exceeded 2 calls per second" } })
    assert.deepInclude(await acme.failure("getShop"), { category: "transient", retryAfterMillis: 2_000 })
  })

  it("sends the OAuth token as its own header", async () => {
    const connected = makeCaller(shopify, api.origin, {
      method: "oauth",
      credential: { accessToken: "shpat_fake" },
      config
    })
    assert.strictEqual(objectOf(await connected.result("getShop"))["name"], "Acme")
    assert.isUndefined(api.asked.at(-1)?.headers.authorization)
  })
})
