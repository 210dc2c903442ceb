import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { cin7 as builtIn } from "../../../src/domain/connectors/cin7/Cin7.js"
import {
  anything,
  makeCaller,
  type Caller,
  hasItems,
  callEveryAction,
  hasMembers,
  objectOf
} from "../../support/ConnectorCaller.js"
import { cin7Fake } from "../../support/fakes/cin7.js"
import type { Fake } from "../../support/fakes/Fake.js"

const cin7 = builtIn.definition()

let api: Fake
let acme: Caller

beforeAll(async () => {
  api = await cin7Fake()
  acme = makeCaller(cin7, api.origin, { method: "key", credential: { accountId: "account", applicationKey: "key" } })
})
afterAll(() => api.close())

const ID = "00000000-0000-4000-8000-000000000002"
/** A purchase of a kind that Cin7 does not serve at the usual path. */
const advanced = "00000000-0000-4000-8000-000000000001"
const product = {
  Name: "Pump",
  Category: "Hardware",
  Type: "Stock",
  CostingMethod: "FIFO",
  UOM: "Item",
  Status: "Active"
}
const customer = {
  Name: "Acme",
  Status: "Active",
  Currency: "NZD",
  PaymentTerm: "30 days",
  AccountReceivable: "610",
  RevenueAccount: "200",
  TaxRule: "GST on Sales"
}

describe("Cin7 Core", () => {
  it("answers every action", () =>
    callEveryAction(cin7, acme, {
      getCompany: [{}, hasMembers({ Company: "Acme" })],
      listProducts: [{ ModifiedSince: "2026-11-01T00:00:00.000Z", limit: 2 }, hasItems("Products", 2)],
      getProduct: [{ ID }, hasMembers({ SKU: "S2" })],
      createProduct: [{ SKU: "PUMP", ...product }, hasMembers({ ID: "new", SKU: "PUMP" })],
      updateProduct: [{ ID, ...product }, hasMembers({ SKU: "S2", Name: "Pump" })],
      listAvailability: [{ Location: "Main" }, hasItems("ProductAvailabilityList", 5)],
      listLocations: [{}, hasItems("LocationList", 5)],
      listStockAdjustments: [{ Status: "COMPLETED" }, hasItems("StockAdjustmentList", 5)],
      getStockAdjustment: [{ TaskID: ID }, hasMembers({ TaskID: ID })],
      createStockAdjustment: [
        {
          EffectiveDate: "2026-11-02T00:00:00Z",
          Status: "COMPLETED",
          UpdateOnHand: true,
          Lines: [{ SKU: "PUMP", Quantity: 12, UnitCost: 5, Location: "Main" }]
        },
        hasMembers({ Status: "COMPLETED" })
      ],
      listCustomers: [{}, hasItems("CustomerList", 5)],
      getCustomer: [{ ID }, hasMembers({ Name: "N2" })],
      createCustomer: [customer, hasMembers({ ID: "new", Name: "Acme" })],
      updateCustomer: [{ ID, ...customer }, hasMembers({ ID, Name: "Acme" })],
      listSuppliers: [{}, hasItems("SupplierList", 5)],
      listSales: [{ UpdatedSince: "2026-11-01T00:00:00Z" }, hasItems("SaleList", 5)],
      getSale: [{ ID, IncludeTransactions: true }, hasMembers({ ID })],
      createSale: [{ CustomerID: ID, Location: "Main", CurrencyRate: 1 }, hasMembers({ Location: "Main" })],
      updateSale: [{ ID, Note: "Gift", Location: "Main", CurrencyRate: 1 }, hasMembers({ ID, Note: "Gift" })],
      createSaleOrder: [
        { SaleID: ID, Status: "AUTHORISED", Lines: [{ SKU: "PUMP", Quantity: 1, Price: 15 }] },
        hasMembers({ SaleID: ID, Status: "AUTHORISED" })
      ],
      getSaleFulfilments: [{ SaleID: ID }, hasItems("Fulfilments", 0)],
      voidSale: [{ ID }, hasMembers({ Status: "VOIDED" })],
      listPurchases: [{}, hasItems("PurchaseList", 5)],
      getPurchase: [{ ID }, hasMembers({ ID })],
      getAdvancedPurchase: [{ ID: advanced }, hasMembers({ ID: advanced })],
      listWebhooks: [{}, hasItems("Webhooks", 1)],
      createWebhook: [
        {
          Type: "Sale/Created",
          IsActive: true,
          ExternalURL: "https://svc.example/hook",
          ExternalAuthorizationType: "bearerauth",
          ExternalBearerToken: "secret"
        },
        hasMembers({ ID: "w2" })
      ],
      deleteWebhook: [{ ID }, anything]
    }))

  it("counts pages on until as many are seen as there are", async () => {
    const pages = await acme.pages("listProducts", { limit: 2 })
    assert.deepStrictEqual(
      pages.map((page) => page.map((item) => objectOf(item)["SKU"])),
      [["S1", "S2"], ["S3", "S4"], ["S5"]]
    )
  })

  it("tells what Cin7 refuses, also where the status says success", async () => {
    assert.deepInclude(await acme.failure("createProduct", product), {
      category: "provider",
      status: 400,
      code: "400",
      message: "'SKU' is required"
    })
    assert.deepInclude(await acme.failure("getPurchase", { ID: advanced }), { status: 400, code: "400" })
    api.plan({ json: [{ ErrorCode: 500, Exception: "Something went wrong" }] })
    assert.deepInclude(await acme.failure("getCompany"), { status: 200, message: "Something went wrong" })
  })

  it("tells wrong credentials, which Cin7 answers with 403, as what they are", async () => {
    const stranger = makeCaller(cin7, api.origin, {
      method: "key",
      credential: { accountId: "account", applicationKey: "no" }
    })
    assert.deepInclude(await stranger.failure("getCompany"), { category: "auth", message: "Incorrect credentials!" })
  })

  it("takes too many requests for something to try again", async () => {
    api.plan({
      status: 429,
      headers: { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "60", "retry-after": "60 Seconds" },
      text: "You have reached 60 calls per 60 seconds API limit."
    })
    assert.deepInclude(await acme.failure("getCompany"), {
      category: "transient",
      status: 429,
      retryAfterMillis: 60_000
    })
    api.plan({ status: 503, text: "Service unavailable" })
    assert.deepInclude(await acme.failure("getCompany"), { category: "transient", status: 503 })
  })
})
