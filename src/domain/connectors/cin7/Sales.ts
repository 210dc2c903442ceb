/** Actions of Cin7 Core on customers, suppliers, sales and purchases. */
import { type ActionManifest, args, flag, list, number, oneOf, record, text, time } from "../SchemaShorthands.js"
import { defineCin7List, defineCin7Read, cin7Response, defineCin7Write } from "./Requests.js"

const customer = record({ ID: text, Name: text, Status: text, Currency: text, LastModifiedOn: text }, "ID", "Name")
const acme = {
  ID: "91ee7b1d-bd35-4e43-b98a-db86be777624",
  Name: "Acme Ltd",
  Status: "Active",
  Currency: "NZD",
  PaymentTerm: "30 days",
  TaxRule: "GST on Sales",
  LastModifiedOn: "2026-11-01T09:00:00.000Z",
  Addresses: [
    { Line1: "12 Mill St", Line2: null, City: "Wellington", State: null, Postcode: "6011", Country: "New Zealand" }
  ],
  Contacts: [{ Name: "Ada Byron", Email: "ada@example.com", Phone: "5550100", Default: true }]
}
const customerInput = {
  Name: text,
  Status: oneOf("Active", "Deprecated"),
  Currency: text,
  PaymentTerm: text,
  AccountReceivable: text,
  RevenueAccount: text,
  TaxRule: text,
  PriceTier: text,
  Discount: number,
  CreditLimit: number,
  Comments: text,
  Tags: text,
  Addresses: list(record()),
  Contacts: list(record())
}

/** The members of a customer that a change sends again. */
export const customerMembers = Object.keys(customerInput)

const saleRow = record({ SaleID: text, OrderNumber: text, Status: text, Customer: text, Updated: text }, "SaleID")
const sale = record({ ID: text, Customer: text, Status: text, Order: { type: ["object", "null"] } }, "ID")
const order = {
  ID: "4a5f2d8a-6f0f-4f3a-b7c8-f5c8a0a3d001",
  Customer: "Acme Ltd",
  CustomerID: acme.ID,
  Location: "Main Warehouse",
  Status: "ORDERED",
  BaseCurrency: "NZD",
  CustomerCurrency: "NZD",
  SaleOrderDate: "2026-11-02T00:00:00Z",
  LastModifiedOn: "2026-11-02T09:00:00.000Z",
  Order: { SaleOrderNumber: "SO-00001", Status: "AUTHORISED", Lines: [], TotalBeforeTax: 30, Tax: 4.5, Total: 34.5 }
}
const row = {
  SaleID: order.ID,
  OrderNumber: "SO-00001",
  Status: "ORDERED",
  Customer: "Acme Ltd",
  Updated: order.LastModifiedOn
}
const saleInput = {
  Customer: text,
  CustomerID: text,
  Location: text,
  CurrencyRate: number,
  Contact: text,
  Phone: text,
  Email: text,
  BillingAddress: record(),
  ShippingAddress: record(),
  TaxRule: text,
  Terms: text,
  PriceTier: text,
  ShipBy: text,
  SaleOrderDate: text,
  Note: text,
  CustomerReference: text,
  SalesRepresentative: text,
  Carrier: text,
  ExternalID: text,
  SkipQuote: flag
}
const saleLine = record({
  ProductID: text,
  SKU: text,
  Name: text,
  Quantity: number,
  Price: number,
  TaxRule: text,
  Tax: number,
  Total: number
})

const purchase = record({ ID: text, Status: text }, "ID")
const bolts = { ID: "8b1c3876-1d5b-4f5c-8c1b-2f2f3c7c0002", Status: "ORDERED", Supplier: "Bolts Inc" }

export const cin7SaleActions: ReadonlyArray<ActionManifest> = [
  defineCin7List({
    name: "listCustomers",
    title: "List customers",
    path: "/customer",
    items: "CustomerList",
    item: customer,
    filters: { Name: text, ModifiedSince: time, ContactFilter: text, IncludeDeprecated: flag },
    mock: acme
  }),
  defineCin7Read({
    name: "getCustomer",
    title: "Get a customer",
    path: "/customer",
    key: "ID",
    map: "$.CustomerList[0]",
    item: customer,
    mock: acme
  }),
  defineCin7Write({
    name: "createCustomer",
    title: "Create a customer",
    path: "/customer",
    writable: customerInput,
    required: ["Name", "Status", "Currency", "PaymentTerm", "AccountReceivable", "RevenueAccount", "TaxRule"],
    map: "$.CustomerList[0]",
    item: customer,
    mock: acme
  }),
  defineCin7Write({
    name: "updateCustomer",
    title: "Change a customer",
    method: "PUT",
    path: "/customer",
    writable: { ID: text, ...customerInput },
    required: ["ID"],
    map: "$.CustomerList[0]",
    item: customer,
    mock: acme
  }),
  defineCin7List({
    name: "listSuppliers",
    title: "List suppliers",
    path: "/supplier",
    items: "SupplierList",
    item: record({ ID: text, Name: text, Status: text }, "ID", "Name"),
    filters: { ID: text, Name: text, ModifiedSince: time, IncludeDeprecated: flag },
    mock: { ID: "c08b3876-1d5b-4f5c-8c1b-2f2f3c7c0001", Name: "Bolts Inc", Status: "Active" }
  }),
  defineCin7List({
    name: "listSales",
    title: "List sales",
    path: "/saleList",
    items: "SaleList",
    item: saleRow,
    filters: {
      Search: text,
      CreatedSince: time,
      UpdatedSince: time,
      UpdatedUntil: time,
      Status: text,
      OrderStatus: text,
      ExternalID: text,
      ReadyForShipping: flag,
      OrderLocationID: text
    },
    mock: row
  }),
  defineCin7Read({
    name: "getSale",
    title: "Get a sale with its order, fulfilments and invoices",
    path: "/sale",
    key: "ID",
    filters: { CombineAdditionalCharges: flag, IncludeTransactions: flag },
    item: sale,
    mock: order
  }),
  defineCin7Write({
    name: "createSale",
    title: "Create a sale",
    path: "/sale",
    writable: saleInput,
    required: ["Location", "CurrencyRate"],
    item: sale,
    mock: order
  }),
  defineCin7Write({
    name: "updateSale",
    title: "Change a sale",
    method: "PUT",
    path: "/sale",
    writable: { ID: text, ...saleInput },
    required: ["ID"],
    item: sale,
    mock: order
  }),
  defineCin7Write({
    name: "createSaleOrder",
    title: "Set the lines of a sale's order, and authorise it",
    path: "/sale/order",
    writable: { SaleID: text, Status: oneOf("DRAFT", "AUTHORISED", "VOIDED"), Memo: text, Lines: list(saleLine) },
    required: ["SaleID", "Status", "Lines"],
    item: record({ SaleID: text, Status: text }, "SaleID"),
    mock: { SaleID: order.ID, SaleOrderNumber: "SO-00001", Status: "AUTHORISED", Lines: [] }
  }),
  defineCin7Read({
    name: "getSaleFulfilments",
    title: "Get a sale's fulfilments",
    path: "/sale/fulfilment",
    key: "SaleID",
    item: record({ SaleID: text, Fulfilments: list(record()) }, "SaleID"),
    mock: { SaleID: order.ID, Fulfilments: [] }
  }),
  {
    name: "voidSale",
    title: "Undo or void a sale",
    request: { method: "DELETE", path: "/sale", query: { ID: "{{args.ID}}", Void: "{{args.Void ?? true}}" } },
    response: cin7Response,
    inputSchema: args({ ID: text, Void: flag }, "ID"),
    outputSchema: record({ ID: text }),
    mocks: [{ name: "voided", output: { ...order, Status: "VOIDED" } }]
  },
  defineCin7List({
    name: "listPurchases",
    title: "List purchases",
    path: "/purchaseList",
    items: "PurchaseList",
    item: record({ ID: text, OrderNumber: text, Status: text }, "ID"),
    filters: {
      Search: text,
      RequiredBy: time,
      UpdatedSince: time,
      UpdatedUntil: time,
      OrderStatus: text,
      Status: text
    },
    mock: {
      ID: "8b1c3876-1d5b-4f5c-8c1b-2f2f3c7c0002",
      OrderNumber: "PO-00001",
      Status: "ORDERED",
      Supplier: "Bolts Inc"
    }
  }),
  defineCin7Read({
    name: "getPurchase",
    title: "Get a simple purchase",
    path: "/purchase",
    key: "ID",
    item: purchase,
    mock: bolts
  }),
  // Cin7 does not accept these two kinds at the path above.
  defineCin7Read({
    name: "getAdvancedPurchase",
    title: "Get an advanced or a service purchase",
    path: "/advanced-purchase",
    key: "ID",
    item: purchase,
    mock: bolts
  })
]
