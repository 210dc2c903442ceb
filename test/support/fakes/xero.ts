/** Xero's Accounting API: every record in a list, pages with totals, the rest of the minute's limit in every answer. */
import { type FakeRequest, startFake, type Fake, type Reply, slice } from "./Fake.js"

type Item = Record<string, unknown>

const tenant = "d99ecdfe-391d-43d2-b834-17636ba90e8d"
const keys: Readonly<Record<string, string>> = {
  Contacts: "ContactID",
  Invoices: "InvoiceID",
  Items: "ItemID",
  Payments: "PaymentID",
  CreditNotes: "CreditNoteID",
  Accounts: "AccountID"
}
const needed: Readonly<Record<string, readonly [member: string, message: string]>> = {
  Contacts: ["Name", "The contact name must be specified."],
  Items: ["Code", "Item code must be supplied"],
  Invoices: ["Type", "Invoice type is required"]
}
const records: Readonly<Record<string, ReadonlyArray<Item>>> = Object.fromEntries(
  Object.entries(keys).map(([plural, key]) => [
    plural,
    [1, 2, 3, 4, 5].map((n) => ({ [key]: `id-${n}`, Name: `N${n}`, Code: `C${n}`, Status: "AUTHORISED", Amount: n }))
  ])
)

const invalid = (message: string): Reply => ({
  status: 400,
  json: {
    ErrorNumber: 10,
    Type: "ValidationException",
    Message: "A validation exception occurred",
    Elements: [{ ValidationErrors: [{ Message: message }] }]
  }
})

const listed = (asked: FakeRequest): Reply => {
  const plural = asked.params["kind"] ?? ""
  const all = asked.headers["if-modified-since"] === undefined ? (records[plural] ?? []) : []
  if (plural === "Items" || plural === "Accounts") return { json: { [plural]: all } }
  const page = Number(asked.query.get("page") ?? 1)
  const pageSize = Number(asked.query.get("pageSize") ?? 100)
  const pagination = { page, pageSize, pageCount: Math.ceil(all.length / pageSize), itemCount: all.length }
  return { json: { pagination, [plural]: slice(all, (page - 1) * pageSize, pageSize).page } }
}

const found = (asked: FakeRequest): Item | undefined => {
  const plural = asked.params["kind"] ?? ""
  return records[plural]?.find((item) => item[keys[plural] ?? ""] === asked.params["id"])
}

const sent = (asked: FakeRequest): Item => {
  const items = asked.json()[asked.params["kind"] ?? ""]
  return (Array.isArray(items) ? items[0] : {}) as Item
}

export const xeroFake = (): Promise<Fake> => {
  let left = 60
  return startFake({
    headers: () => ({ "x-minlimit-remaining": String(--left), "x-daylimit-remaining": "4900" }),
    guard: (asked) => {
      if (asked.headers.authorization !== "Bearer token") {
        const json = { Type: null, Title: "Unauthorized", Status: 401, Detail: "AuthenticationUnsuccessful" }
        return { status: 401, json }
      }
      const tenantless = asked.path === "/connections"
      return tenantless || asked.headers["xero-tenant-id"] === tenant
        ? null
        : { status: 403, json: { Type: null, Title: "Forbidden", Status: 403, Detail: "AuthenticationUnsuccessful" } }
    },
    routes: {
      "GET /connections": () => ({
        json: [{ id: "e1", tenantId: tenant, tenantType: "ORGANISATION", tenantName: "Acme" }]
      }),
      "GET /api.xro/2.0/Organisation": () => ({ json: { Organisations: [{ OrganisationID: "o1", Name: "Acme" }] } }),
      "POST /api.xro/2.0/Invoices/:id/Email": () => ({ status: 204 }),
      "GET /api.xro/2.0/:kind": listed,
      "GET /api.xro/2.0/:kind/:id": (asked) => {
        const item = found(asked)
        return item === undefined
          ? { status: 404, text: "The resource you're looking for cannot be found" }
          : { json: { [asked.params["kind"] ?? ""]: [item] } }
      },
      "PUT /api.xro/2.0/:kind": (asked) => {
        const plural = asked.params["kind"] ?? ""
        const item = sent(asked)
        const [member, message] = needed[plural] ?? ["", ""]
        if (String(asked.headers["idempotency-key"] ?? "").length > 128) return invalid("Idempotency-Key too long")
        if (member !== "" && item[member] === undefined) return invalid(message)
        return { json: { [plural]: [{ [keys[plural] ?? ""]: "new", Status: "DRAFT", Name: "", ...item }] } }
      },
      "DELETE /api.xro/2.0/Items/:id": () => ({ status: 204 }),
      "POST /api.xro/2.0/:kind/:id": (asked) => {
        const plural = asked.params["kind"] ?? ""
        const item = found(asked)
        return item === undefined ? invalid("does not exist") : { json: { [plural]: [{ ...item, ...sent(asked) }] } }
      }
    }
  })
}
