import { Either } from "effect"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { buildRequest } from "../../../src/domain/connector/request/UnsignedRequest.js"
import { findAction } from "../../../src/domain/connector/Definition.js"
import { quickbooks as builtIn } from "../../../src/domain/connectors/quickbooks/QuickBooks.js"
import {
  makeCaller,
  type Caller,
  type Calls,
  callEveryAction,
  hasMembers,
  idempotencyKeyOf,
  objectOf
} from "../../support/ConnectorCaller.js"
import type { Fake } from "../../support/fakes/Fake.js"
import { quickbooksFake } from "../../support/fakes/quickbooks.js"

const quickbooks = builtIn.definition()

let api: Fake
let acme: Caller
const config = { realmId: "4620816365" }

beforeAll(async () => {
  api = await quickbooksFake()
  acme = makeCaller(quickbooks, api.origin, { method: "oauth", credential: { accessToken: "token" }, config })
})
afterAll(() => api.close())

const plurals = ["Customers", "Items", "Invoices", "Payments", "Bills", "Vendors", "Accounts"]
const customer = { CustomerRef: { value: "1" } }
const creates = {
  Customer: { DisplayName: "Ada", PrimaryEmailAddr: { Address: "ada@example.com" } },
  Item: { Name: "Pump", Type: "Service", UnitPrice: 15 },
  Invoice: { ...customer, Line: [{ Amount: 30, DetailType: "SalesItemLineDetail" }] },
  Payment: { ...customer, TotalAmt: 30 },
  Bill: { VendorRef: { value: "56" }, Line: [{ Amount: 5 }] },
  Vendor: { DisplayName: "Bob" }
}
const known = { Id: "2", SyncToken: "0" }

const calls: Calls = {
  getCompany: [{}, hasMembers({ CompanyName: "Acme" })],
  ...Object.fromEntries(
    plurals.map((plural) => [
      `list${plural}`,
      [
        { maxResults: 2, filter: "where Active = true" },
        (result) => assert.lengthOf(Object.keys(objectOf(objectOf(result)["QueryResponse"])), 3)
      ]
    ])
  ),
  ...Object.fromEntries(
    Object.keys(creates).map((name) => [`get${name}`, [{ Id: "2" }, hasMembers({ Id: "2" })] as const])
  ),
  ...Object.fromEntries(
    Object.entries(creates).map(([name, sent]) => [`create${name}`, [sent, hasMembers({ Id: "99", ...sent })] as const])
  ),
  ...Object.fromEntries(
    Object.entries(creates).map(([name, sent]) => [
      `update${name}`,
      [
        { ...known, ...(["Customer", "Vendor"].includes(name) ? { Active: false } : sent) },
        hasMembers({ Id: "2", SyncToken: "1" })
      ] as const
    ])
  ),
  deleteInvoice: [known, hasMembers({ status: "Deleted" })],
  deletePayment: [known, hasMembers({ status: "Deleted" })],
  sendInvoice: [{ Id: "2", sendTo: "ada@example.com" }, hasMembers({ EmailStatus: "EmailSent" })]
}

describe("QuickBooks Online", () => {
  it("answers every action", () => callEveryAction(quickbooks, acme, calls))

  it("moves the query's start position on until a page is short", async () => {
    const pages = await acme.pages("listCustomers", { maxResults: 2 })
    assert.deepStrictEqual(
      pages.map((page) => page.map((item) => objectOf(item)["Id"])),
      [["1", "2"], ["3", "4"], ["5"]]
    )
    assert.lengthOf(await acme.pages("listItems", { maxResults: 5 }), 2)
  })

  it("changes what is named where QuickBooks can, and else the whole record", async () => {
    await acme.result("updateCustomer", { Id: "2", SyncToken: "0", Notes: "x" })
    assert.deepStrictEqual(api.asked.at(-1)?.json(), { sparse: true, Id: "2", SyncToken: "0", Notes: "x" })
    const item = { Id: "2", SyncToken: "0", Name: "Pump", Taxable: true }
    await acme.result("updateItem", item)
    assert.deepStrictEqual(api.asked.at(-1)?.json(), item)
  })

  it("sends the idempotency key as requestid, cut to what QuickBooks takes", async () => {
    const key = idempotencyKeyOf(1_000)
    const first = await acme.answer("createVendor", { DisplayName: "Bob" }, key)
    assert.strictEqual(api.asked.at(-1)?.query.get("requestid"), key.slice(0, 50))
    assert.deepStrictEqual((await acme.answer("createVendor", { DisplayName: "Bob" }, key)).body, first.body)
  })

  it("goes to the company's own path, on the sandbox where the account lives there", () => {
    const action = findAction(quickbooks, "getCompany")
    if (action === undefined) return assert.fail("no action")
    const url = (settings: Record<string, string>) =>
      Either.getOrThrow(buildRequest(quickbooks, action, { args: {}, config: settings, idempotencyKey: "" })).url
    assert.strictEqual(
      url(config),
      "https://quickbooks.api.intuit.com/v3/company/4620816365/companyinfo/4620816365?minorversion=75"
    )
    assert.match(url({ ...config, host: "sandbox-quickbooks.api.intuit.com" }), /^https:\/\/sandbox-quickbooks\.api\./)
  })

  it("tells what QuickBooks refuses, with its code and detail", async () => {
    const stale = await acme.failure("updateCustomer", { Id: "2", SyncToken: "7" })
    assert.deepInclude(stale, { category: "provider", status: 400, code: "5010" })
    assert.include(stale.message, "Stale Object Error")
    // A fault inside a success is a failure.
    api.plan({ json: { Fault: { Error: [{ Detail: "Down for now", code: "3001" }] } } })
    assert.deepInclude(await acme.failure("getCompany"), {
      category: "transient",
      status: 200,
      message: "Down for now"
    })
  })

  it("keeps to what a company takes: ten requests a second, and five hundred a minute", () => {
    const { perSeconds = 0, requests = Infinity } = quickbooks.rateLimit ?? {}
    assert.isAtMost(requests / perSeconds, 10)
    assert.isAtMost((requests / perSeconds) * 60, 500)
  })

  it("tells a refused token as a failure of the credential", async () => {
    const stranger = makeCaller(quickbooks, api.origin, { method: "oauth", credential: { accessToken: "old" }, config })
    assert.deepInclude(await stranger.failure("getCompany"), { category: "auth", status: 401 })
  })
})
