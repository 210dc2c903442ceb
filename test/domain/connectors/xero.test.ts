import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { valueAt } from "../../../src/domain/expression/Path.js"
import { readRateHeaders } from "../../../src/domain/connector/request/RateReading.js"
import { xero as builtIn } from "../../../src/domain/connectors/xero/Xero.js"
import {
  makeCaller,
  type Caller,
  hasItems,
  callEveryAction,
  hasMembers,
  objectOf
} from "../../support/ConnectorCaller.js"
import type { Fake } from "../../support/fakes/Fake.js"
import { xeroFake } from "../../support/fakes/xero.js"

const xero = builtIn.definition()

let api: Fake
let acme: Caller
const config = { tenantId: "d99ecdfe-391d-43d2-b834-17636ba90e8d" }

beforeAll(async () => {
  api = await xeroFake()
  acme = makeCaller(xero, api.origin, { method: "oauth", credential: { accessToken: "token" }, config })
})
afterAll(() => api.close())

const line = { Description: "Pump", Quantity: 2, UnitAmount: "15.00", AccountCode: "200" }

describe("Xero", () => {
  it("answers every action", () =>
    callEveryAction(xero, acme, {
      listConnections: [{}, (result) => assert.strictEqual(valueAt(result, "$[0].tenantName"), "Acme")],
      getOrganisation: [{}, hasMembers({ Name: "Acme" })],
      listContacts: [{ where: 'Name.StartsWith("N")', pageSize: 2 }, hasItems("Contacts", 2)],
      getContact: [{ ContactID: "id-2" }, hasMembers({ Name: "N2" })],
      createContact: [{ Name: "Ada", EmailAddress: "ada@example.com" }, hasMembers({ ContactID: "new", Name: "Ada" })],
      updateContact: [{ ContactID: "id-2", FirstName: "Bo" }, hasMembers({ ContactID: "id-2", FirstName: "Bo" })],
      listInvoices: [{ Statuses: ["DRAFT", "AUTHORISED"] }, hasItems("Invoices", 5)],
      getInvoice: [{ InvoiceID: "id-1" }, hasMembers({ Status: "AUTHORISED" })],
      createInvoice: [
        { Contact: { ContactID: "id-1" }, LineItems: [line] },
        hasMembers({ Type: "ACCREC", LineItems: [line] })
      ],
      updateInvoice: [{ InvoiceID: "id-1", Status: "VOIDED" }, hasMembers({ Status: "VOIDED" })],
      listItems: [{}, hasItems("Items", 5)],
      getItem: [{ ItemID: "id-1" }, hasMembers({ Code: "C1" })],
      createItem: [{ Code: "PUMP", SalesDetails: { UnitPrice: 15 } }, hasMembers({ ItemID: "new", Code: "PUMP" })],
      updateItem: [{ ItemID: "id-1", Description: "A pump" }, hasMembers({ Description: "A pump" })],
      listPayments: [{}, hasItems("Payments", 5)],
      getPayment: [{ PaymentID: "id-3" }, hasMembers({ Amount: 3 })],
      createPayment: [
        { Invoice: { InvoiceID: "id-1" }, Account: { Code: "090" }, Amount: 15 },
        hasMembers({ PaymentID: "new", Amount: 15 })
      ],
      listCreditNotes: [{}, hasItems("CreditNotes", 5)],
      getCreditNote: [{ CreditNoteID: "id-1" }, hasMembers({ CreditNoteID: "id-1" })],
      listAccounts: [{ where: 'Type=="BANK"' }, hasItems("Accounts", 5)],
      getAccount: [{ AccountID: "id-1" }, hasMembers({ Name: "N1" })],
      deleteItem: [{ ItemID: "id-1" }, (result) => assert.isNull(result)],
      emailInvoice: [{ InvoiceID: "id-1" }, (result) => assert.isNull(result)]
    }))

  it("counts pages on to the last one that Xero names", async () => {
    const pages = await acme.pages("listContacts", { pageSize: 2 })
    assert.deepStrictEqual(
      pages.map((page) => page.map((item) => objectOf(item)["ContactID"])),
      [["id-1", "id-2"], ["id-3", "id-4"], ["id-5"]]
    )
  })

  it("asks for what changed since, by header", async () => {
    hasItems("Invoices", 0)(await acme.result("listInvoices", { modifiedSince: "2026-11-01T00:00:00" }))
    assert.strictEqual(api.asked.at(-1)?.headers["if-modified-since"], "2026-11-01T00:00:00")
  })

  it("names the organisation in every call but the one that asks which there are", async () => {
    const nameless = makeCaller(xero, api.origin, { method: "oauth", credential: { accessToken: "token" } })
    assert.strictEqual(valueAt(await nameless.result("listConnections"), "$[0].tenantId"), config.tenantId)
    assert.deepInclude(await nameless.failure("getOrganisation"), { category: "provider", status: 403 })
  })

  it("tells what Xero found wrong with a record", async () => {
    assert.deepInclude(await acme.failure("createContact", { FirstName: "Ada" }), {
      category: "provider",
      code: "ValidationException",
      message: "The contact name must be specified."
    })
    const stranger = makeCaller(xero, api.origin, { method: "oauth", credential: { accessToken: "old" }, config })
    assert.deepInclude(await stranger.failure("listAccounts"), { category: "auth", status: 401 })
  })

  it("reads what is left of the minute, and how long to wait", async () => {
    const { headers } = await acme.answer("getOrganisation")
    assert.isBelow(readRateHeaders(xero, headers, 0).remaining ?? 60, 60)
    api.plan({ status: 429, headers: { "retry-after": "12", "x-rate-limit-problem": "minute" } })
    assert.deepInclude(await acme.failure("getOrganisation"), { category: "transient", retryAfterMillis: 12_000 })
  })
})
