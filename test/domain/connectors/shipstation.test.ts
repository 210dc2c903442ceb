import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { readRateHeaders } from "../../../src/domain/connector/request/RateReading.js"
import { shipstation as builtIn } from "../../../src/domain/connectors/shipstation/ShipStation.js"
import type { Json } from "../../../src/domain/Json.js"
import {
  anything,
  makeCaller,
  type Caller,
  hasItems,
  callEveryAction,
  hasMembers,
  listOf,
  objectOf
} from "../../support/ConnectorCaller.js"
import type { Fake } from "../../support/fakes/Fake.js"
import { shipstationFake } from "../../support/fakes/shipstation.js"

const shipstation = builtIn.definition()

let api: Fake
let acme: Caller

beforeAll(async () => {
  api = await shipstationFake()
  acme = makeCaller(shipstation, api.origin, { method: "key", credential: { username: "key", password: "secret" } })
})
afterAll(() => api.close())

const lists = (count: number) => (result: Json) => assert.lengthOf(listOf(result), count)
const home = { name: "Ada", street1: "12 Mill St", city: "Austin", state: "TX", postalCode: "78703", country: "US" }
const order = {
  orderNumber: "A1",
  orderDate: "2026-11-02T00:00:00",
  orderStatus: "awaiting_shipment",
  billTo: home,
  shipTo: home
}

describe("ShipStation", () => {
  it("answers every action", () =>
    callEveryAction(shipstation, acme, {
      listStores: [{}, lists(1)],
      listOrders: [{ orderStatus: "awaiting_shipment", pageSize: 3, sortBy: "ModifyDate" }, hasItems("orders", 3)],
      getOrder: [{ orderId: 2 }, hasMembers({ orderNumber: "O2" })],
      createOrder: [{ ...order, orderKey: "k2" }, hasMembers({ orderId: 2, orderNumber: "A1" })],
      deleteOrder: [{ orderId: 2 }, hasMembers({ success: true })],
      markOrderShipped: [{ orderId: 1, carrierCode: "ups", trackingNumber: "1Z" }, hasMembers({ orderId: 1 })],
      createLabel: [
        { orderId: 1, carrierCode: "ups", serviceCode: "ups_ground", shipDate: "2026-11-03" },
        hasMembers({ trackingNumber: "T9" })
      ],
      voidLabel: [{ shipmentId: 9 }, hasMembers({ approved: true })],
      listShipments: [{ orderId: 1, includeShipmentItems: true }, hasItems("shipments", 5)],
      getRates: [
        {
          carrierCode: "ups",
          fromPostalCode: "78703",
          toCountry: "US",
          toPostalCode: "20500",
          weight: { value: 3, units: "ounces" }
        },
        lists(1)
      ],
      listFulfillments: [{}, hasItems("fulfillments", 5)],
      listProducts: [{ sku: "S1" }, hasItems("products", 5)],
      getProduct: [{ productId: 1 }, hasMembers({ sku: "S1" })],
      listCustomers: [{ countryCode: "US" }, hasItems("customers", 5)],
      getCustomer: [{ customerId: 3 }, hasMembers({ name: "C3" })],
      listCarriers: [{}, lists(1)],
      listServices: [
        { carrierCode: "ups&x=1" },
        (result) => assert.strictEqual(objectOf(listOf(result)[0])["carrierCode"], "ups&x=1")
      ],
      listWarehouses: [{}, lists(1)],
      listWebhooks: [{}, hasItems("webhooks", 0)],
      createWebhook: [{ target_url: "https://svc.example/hook", event: "SHIP_NOTIFY" }, hasMembers({ id: 7 })],
      deleteWebhook: [{ id: 7 }, anything]
    }))

  it("counts pages on to the last one", async () => {
    const pages = await acme.pages("listOrders", { pageSize: 2 })
    assert.deepStrictEqual(
      pages.map((page) => page.map((item) => objectOf(item)["orderId"])),
      [[1, 2], [3, 4], [5]]
    )
  })

  it("reads the limit, and in how many seconds it starts anew", async () => {
    const { headers } = await acme.answer("listStores")
    const reading = readRateHeaders(shipstation, headers, 1_000)
    assert.strictEqual(reading.limit, 40)
    assert.strictEqual(reading.resetAt, 23_000)
  })

  it("tells what ShipStation refuses, and wrong keys as such", async () => {
    const { shipTo, ...incomplete } = order
    assert.isDefined(shipTo)
    const refused = await acme.failure("createOrder", incomplete)
    assert.deepInclude(refused, { category: "provider", status: 400 })
    assert.include(refused.message, "shipTo is required")
    const stranger = makeCaller(shipstation, api.origin, {
      method: "key",
      credential: { username: "key", password: "no" }
    })
    assert.deepInclude(await stranger.failure("listStores"), { category: "auth", status: 401 })
    api.plan({ status: 429, headers: { "x-rate-limit-reset": "9" }, text: "Too many requests" })
    assert.deepInclude(await acme.failure("listStores"), { category: "transient", status: 429 })
  })
})
