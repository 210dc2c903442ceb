/** Actions of QuickBooks on a company's resources. */
import { decimal, flag, list, number, oneOf, record, text } from "../SchemaShorthands.js"
import { address, reference, type QuickbooksResource } from "./Requests.js"

const times = { CreateTime: "2026-11-01T09:00:00-08:00", LastUpdatedTime: "2026-11-02T09:00:00-08:00" }

export const quickbooksCustomer: QuickbooksResource = {
  name: "Customer",
  plural: "Customers",
  path: "/customer",
  schema: record({ Id: text, SyncToken: text, DisplayName: text, Active: flag, Balance: number }, "Id", "SyncToken"),
  writable: {
    DisplayName: text,
    Title: text,
    GivenName: text,
    MiddleName: text,
    FamilyName: text,
    CompanyName: text,
    PrimaryEmailAddr: record({ Address: text }),
    PrimaryPhone: record({ FreeFormNumber: text }),
    BillAddr: address,
    ShipAddr: address,
    Notes: text,
    Active: flag,
    CurrencyRef: reference
  },
  required: [],
  sparse: true,
  mock: { Id: "58", SyncToken: "0", DisplayName: "Ada Byron", Active: true, Balance: 0, MetaData: times }
}

export const quickbooksItem: QuickbooksResource = {
  name: "Item",
  plural: "Items",
  path: "/item",
  schema: record({ Id: text, SyncToken: text, Name: text, Type: text, Active: flag, UnitPrice: number }, "Id", "Name"),
  writable: {
    Name: text,
    Sku: text,
    Description: text,
    Type: oneOf("Inventory", "NonInventory", "Service"),
    UnitPrice: decimal,
    PurchaseCost: decimal,
    TrackQtyOnHand: flag,
    QtyOnHand: number,
    InvStartDate: text,
    IncomeAccountRef: reference,
    ExpenseAccountRef: reference,
    AssetAccountRef: reference,
    Active: flag
  },
  required: ["Name"],
  sparse: false,
  mock: { Id: "11", SyncToken: "0", Name: "Pump", Type: "Service", Active: true, UnitPrice: 15, MetaData: times }
}

export const invoiceLine = {
  Id: "1",
  Amount: 30,
  Description: "Pump",
  DetailType: "SalesItemLineDetail",
  SalesItemLineDetail: { ItemRef: { value: "11", name: "Pump" }, Qty: 2, UnitPrice: 15 }
}
export const quickbooksInvoice: QuickbooksResource = {
  name: "Invoice",
  plural: "Invoices",
  path: "/invoice",
  schema: record(
    { Id: text, SyncToken: text, DocNumber: text, TotalAmt: number, Balance: number, Line: list(record()) },
    "Id",
    "SyncToken"
  ),
  writable: {
    CustomerRef: reference,
    Line: list(record({ Amount: decimal, DetailType: text }, "DetailType")),
    DocNumber: text,
    TxnDate: text,
    DueDate: text,
    BillEmail: record({ Address: text }),
    BillAddr: address,
    ShipAddr: address,
    CurrencyRef: reference,
    CustomerMemo: record({ value: text }),
    PrivateNote: text
  },
  required: ["CustomerRef", "Line"],
  sparse: true,
  mock: {
    Id: "145",
    SyncToken: "0",
    DocNumber: "1037",
    CustomerRef: { value: "58", name: "Ada Byron" },
    CurrencyRef: { value: "USD" },
    DueDate: "2026-12-01",
    TotalAmt: 30,
    Balance: 30,
    Line: [invoiceLine],
    MetaData: times
  }
}

export const quickbooksPayment: QuickbooksResource = {
  name: "Payment",
  plural: "Payments",
  path: "/payment",
  schema: record({ Id: text, SyncToken: text, TotalAmt: number, UnappliedAmt: number }, "Id", "SyncToken"),
  writable: {
    CustomerRef: reference,
    TotalAmt: decimal,
    TxnDate: text,
    PaymentRefNum: text,
    PaymentMethodRef: reference,
    DepositToAccountRef: reference,
    Line: list(record()),
    PrivateNote: text
  },
  required: ["CustomerRef", "TotalAmt"],
  sparse: false,
  mock: { Id: "163", SyncToken: "0", TotalAmt: 30, UnappliedAmt: 0, CustomerRef: { value: "58" } }
}

export const bill: QuickbooksResource = {
  name: "Bill",
  plural: "Bills",
  path: "/bill",
  schema: record({ Id: text, SyncToken: text, TotalAmt: number, Balance: number }, "Id", "SyncToken"),
  writable: {
    VendorRef: reference,
    Line: list(record()),
    TxnDate: text,
    DueDate: text,
    DocNumber: text,
    PrivateNote: text
  },
  required: ["VendorRef", "Line"],
  sparse: false,
  mock: { Id: "151", SyncToken: "0", TotalAmt: 103.55, Balance: 103.55, VendorRef: { value: "56" } }
}

export const vendor: QuickbooksResource = {
  name: "Vendor",
  plural: "Vendors",
  path: "/vendor",
  schema: record({ Id: text, SyncToken: text, DisplayName: text, Active: flag }, "Id", "SyncToken"),
  writable: {
    DisplayName: text,
    GivenName: text,
    FamilyName: text,
    CompanyName: text,
    PrimaryEmailAddr: record({ Address: text }),
    PrimaryPhone: record({ FreeFormNumber: text }),
    BillAddr: address,
    Active: flag
  },
  required: [],
  sparse: true,
  mock: { Id: "56", SyncToken: "0", DisplayName: "Bob's Burger Joint", Active: true }
}

export const quickbooksResources = [
  quickbooksCustomer,
  quickbooksItem,
  quickbooksInvoice,
  quickbooksPayment,
  bill,
  vendor
]
