/** The common entities of the commerce and accounting connectors: what of a query, a change and a deletion gets to the provider. */
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { cin7 } from "../../../src/domain/connectors/cin7/Cin7.js"
import { quickbooks } from "../../../src/domain/connectors/quickbooks/QuickBooks.js"
import { shipstation } from "../../../src/domain/connectors/shipstation/ShipStation.js"
import { shopify } from "../../../src/domain/connectors/shopify/Shopify.js"
import { stripe } from "../../../src/domain/connectors/stripe/Stripe.js"
import { xero } from "../../../src/domain/connectors/xero/Xero.js"
import type { JsonObject } from "../../../src/domain/Json.js"
import { type Account, makeCaller } from "../../support/ConnectorCaller.js"
import { type EntityCaller, makeEntityCaller } from "../../support/EntityCaller.js"
import { cin7Fake } from "../../support/fakes/cin7.js"
import type { Fake, FakeRequest } from "../../support/fakes/Fake.js"
import { quickbooksFake } from "../../support/fakes/quickbooks.js"
import { shipstationFake } from "../../support/fakes/shipstation.js"
import { shopifyFake } from "../../support/fakes/shopify.js"
import { stripeFake } from "../../support/fakes/stripe.js"
import { xeroFake } from "../../support/fakes/xero.js"

const time = "2026-11-02T10:30:00.000Z"
const unix = String(Date.parse(time) / 1000)

const providers = {
  quickbooks: [
    quickbooks,
    quickbooksFake,
    { method: "oauth", credential: { accessToken: "token" }, config: { realmId: "4620816365" } }
  ],
  xero: [
    xero,
    xeroFake,
    {
      method: "oauth",
      credential: { accessToken: "token" },
      config: { tenantId: "d99ecdfe-391d-43d2-b834-17636ba90e8d" }
    }
  ],
  shopify: [
    shopify,
    shopifyFake,
    { method: "token", credential: { accessToken: "shpat_fake" }, config: { shop: "acme" } }
  ],
  stripe: [stripe, stripeFake, { method: "key", credential: { apiKey: "sk_test_fake" } }],
  shipstation: [shipstation, shipstationFake, { method: "key", credential: { username: "key", password: "secret" } }],
  cin7: [cin7, cin7Fake, { method: "key", credential: { accountId: "account", applicationKey: "key" } }]
} satisfies Record<string, readonly [typeof xero, () => Promise<Fake>, Account]>
type Provider = keyof typeof providers

const apis = new Map<string, Fake>()
beforeAll(async () => {
  for (const [name, [, start]] of Object.entries(providers)) apis.set(name, await start())
})
afterAll(() => Promise.all([...apis.values()].map((api) => api.close())))

const apiOf = (name: Provider): Fake => apis.get(name) ?? assert.fail(`no ${name}`)
const entity = (name: Provider, of: string): EntityCaller => {
  const [builtIn, , account] = providers[name]
  return makeEntityCaller(
    builtIn.definition(),
    makeCaller(builtIn.definition(), apiOf(name).origin, account),
    of,
    "cdm"
  )
}
const lastOf = (name: Provider): FakeRequest => apiOf(name).asked.at(-1) ?? assert.fail("nothing was asked")
const ids = (records: Awaited<ReturnType<EntityCaller["list"]>>) => records.map(({ record }) => record["id"])

describe("the filters of a list", () => {
  const both = { modifiedAfter: time, createdAfter: time }
  it.each([
    ["xero", "contact", { pageSize: "50" }],
    ["shopify", "product", { limit: "50", updated_at_min: time, created_at_min: time }],
    ["shopify", "customer", { limit: "50", updated_at_min: time, created_at_min: time }],
    ["shopify", "order", { limit: "50", updated_at_min: time, created_at_min: time }],
    ["shopify", "fulfillment", { limit: "50", updated_at_min: time }],
    ["stripe", "customer", { limit: "50", "created[gt]": unix }],
    ["stripe", "invoice", { limit: "50", "created[gt]": unix }],
    ["shipstation", "order", { pageSize: "50", createDateStart: time, modifyDateStart: time }],
    ["shipstation", "shipment", { pageSize: "50", createDateStart: time, includeShipmentItems: "true" }],
    ["cin7", "product", { limit: "50", ModifiedSince: time }],
    ["cin7", "customer", { limit: "50", ModifiedSince: time }],
    ["cin7", "sale", { limit: "50", UpdatedSince: time, CreatedSince: time }]
  ] as const)("get to %s for its %s", async (name, of, expected) => {
    await entity(name, of).list()
    await entity(name, of).list(both)
    const sent = Object.fromEntries(lastOf(name).query)
    for (const [parameter, value] of Object.entries(expected)) assert.strictEqual(sent[parameter], value, parameter)
  })

  it("are a header at Xero, and of items that come at once", async () => {
    assert.lengthOf(await entity("xero", "item").list(), 5)
    await entity("xero", "item").list({ modifiedAfter: time })
    assert.strictEqual(lastOf("xero").headers["if-modified-since"], time)
  })

  it("are a query at QuickBooks", async () => {
    assert.lengthOf(await entity("quickbooks", "customer").list(), 5)
    const changed = await entity("quickbooks", "customer").list({ modifiedAfter: "2026-11-03T10:00:00.000Z" })
    assert.deepStrictEqual(ids(changed), ["4", "5"])
    const made = await entity("quickbooks", "invoice").list({ createdAfter: "2026-10-04T10:00:00.000Z" })
    assert.deepStrictEqual(ids(made), ["5"])
  })
})

describe("a change", () => {
  it("names the version that it changes at QuickBooks, and only what differs", async () => {
    const changed = await entity("quickbooks", "customer").update("2", { company: "Acme" })
    assert.deepInclude(changed.record, { id: "2", company: "Acme" })
    assert.deepStrictEqual(lastOf("quickbooks").json(), { sparse: true, Id: "2", SyncToken: "0", CompanyName: "Acme" })
  })

  it("sends the whole item to QuickBooks, which clears what is left out", async () => {
    await entity("quickbooks", "item").update("2", { description: "A pump", status: "archived" })
    assert.deepStrictEqual(lastOf("quickbooks").json(), {
      Id: "2",
      SyncToken: "0",
      Name: "Item 2",
      Description: "A pump",
      Active: false
    })
  })

  it("sends the whole product to Cin7, and the whole order to ShipStation", async () => {
    const ID = "00000000-0000-4000-8000-000000000002"
    await entity("cin7", "product").update(ID, { description: "A pump" })
    assert.deepInclude(lastOf("cin7").json(), { ID, Name: "N2", SKU: "S2", Status: "Active", Description: "A pump" })
    const { record } = await entity("shipstation", "order").update("2", {
      status: "completed",
      shippingAddress: { line1: "1 Oak St", city: "Austin" }
    })
    assert.deepInclude(record, { id: "2", status: "completed" })
    const { orderKey, orderNumber, orderStatus, shipTo } = lastOf("shipstation").json()
    assert.deepStrictEqual([orderKey, orderNumber, orderStatus], ["k2", "O2", "shipped"])
    assert.deepInclude(shipTo as JsonObject, { street1: "1 Oak St", name: "Ada" })
  })

  it("names the record at Xero, Shopify and Stripe", async () => {
    assert.deepInclude((await entity("xero", "contact").update("id-2", { firstName: "Bo" })).record, {
      id: "id-2",
      firstName: "Bo"
    })
    const customer = await entity("shopify", "customer").update("2", { firstName: "Bo", tags: ["vip", "new"] })
    assert.deepInclude(customer.record, { firstName: "Bo", tags: ["vip", "new"] })
    const order = await entity("shopify", "order").update("2", { shippingAddress: { line1: "1 Oak St" } })
    assert.deepInclude(order.record["shippingAddress"] as JsonObject, { line1: "1 Oak St" })
  })
})

describe("a new record", () => {
  it("is an invoice of QuickBooks, whose lines have a kind and an amount", async () => {
    const lineItems = [{ productId: "11", name: "Pump", quantity: 2, unitPrice: "15", totalPrice: "30" }]
    const made = await entity("quickbooks", "invoice").create({
      contact: { id: "1", email: "ada@example.com" },
      dueDate: "2026-12-01T00:00:00.000Z",
      currency: "USD",
      lineItems
    })
    assert.deepInclude(made.record, { lineItems: [...lineItems], currency: "USD", dueDate: "2026-12-01T00:00:00.000Z" })
    const sent = lastOf("quickbooks").json()
    assert.deepInclude(sent, { DueDate: "2026-12-01", CustomerRef: { value: "1" } })
    assert.deepInclude((sent["Line"] as ReadonlyArray<JsonObject>)[0], { DetailType: "SalesItemLineDetail" })
  })

  it("has the times that Xero writes as .NET does", async () => {
    apiOf("xero").plan({
      json: {
        Invoices: [
          { InvoiceID: "id-1", DueDate: "/Date(1796083200000+0000)/", UpdatedDateUTC: "/Date(1795245000500+0000)/" }
        ]
      }
    })
    const found = await entity("xero", "invoice").get("id-1")
    assert.deepInclude(found.record, { dueDate: "2026-12-01T00:00:00.000Z", updatedAt: "2026-11-21T07:10:00.500Z" })
  })

  it("is a fulfillment of all that is open of an order of Shopify", async () => {
    const made = await entity("shopify", "fulfillment").create({ orderId: "1", trackingNumber: "T9", carrier: "UPS" })
    assert.exists(made.record["id"])
    assert.deepInclude(lastOf("shopify").json()["fulfillment"] as JsonObject, {
      line_items_by_fulfillment_order: [{ fulfillment_order_id: 5 }],
      tracking_info: { number: "T9", company: "UPS" }
    })
  })

  it("is a level of stock at Shopify, a product of Cin7", async () => {
    const level = await entity("shopify", "inventory_level").create({ productId: "1", locationId: "7", available: 4 })
    assert.deepInclude(level.record, { productId: "1", locationId: "7", available: 4 })
    const product = await entity("cin7", "product").create({ name: "Pump", sku: "PUMP", category: "Hardware" })
    assert.deepInclude(product.record, { name: "Pump", sku: "PUMP", category: "Hardware", status: "active" })
    assert.deepInclude(lastOf("cin7").json(), { Type: "Stock", CostingMethod: "FIFO", UOM: "Item" })
  })
})

describe("a deletion", () => {
  it("makes inactive what other records name", async () => {
    await entity("quickbooks", "customer").remove("2")
    assert.deepStrictEqual(lastOf("quickbooks").json(), { sparse: true, Id: "2", SyncToken: "0", Active: false })
    await entity("xero", "contact").remove("id-2")
    assert.deepInclude(lastOf("xero").json(), { Contacts: [{ ContactID: "id-2", ContactStatus: "ARCHIVED" }] })
    await entity("cin7", "customer").remove("00000000-0000-4000-8000-000000000002")
    assert.deepInclude(lastOf("cin7").json(), { Name: "N2", Status: "Deprecated" })
  })

  it("removes what no other does", async () => {
    await entity("quickbooks", "invoice").remove("2")
    assert.strictEqual(lastOf("quickbooks").query.get("operation"), "delete")
    for (const of of ["product", "customer", "order"]) {
      await entity("shopify", of).remove("2")
      assert.deepInclude(lastOf("shopify"), { method: "DELETE", path: `/admin/api/2026-07/${of}s/2.json` })
    }
    await entity("xero", "item").remove("id-1")
    assert.strictEqual(lastOf("xero").method, "DELETE")
  })
})
