/** Actions of Xero on an organisation's resources. */
import { decimal, flag, list, number, oneOf, record, text, texts } from "../SchemaShorthands.js"
import type { XeroResource } from "./Requests.js"

const address = record({
  AddressType: oneOf("POBOX", "STREET"),
  AddressLine1: text,
  AddressLine2: text,
  City: text,
  Region: text,
  PostalCode: text,
  Country: text
})

export const xeroContact: XeroResource = {
  name: "Contact",
  plural: "Contacts",
  key: "ContactID",
  schema: record({ ContactID: text, Name: text, EmailAddress: text, ContactStatus: text }, "ContactID", "Name"),
  mock: {
    ContactID: "bd2270c3-8706-4c11-9cfb-000b551c3f51",
    Name: "ABC Limited",
    FirstName: "Ada",
    LastName: "Byron",
    EmailAddress: "ada@example.com",
    ContactStatus: "ACTIVE",
    Addresses: [
      { AddressType: "STREET", AddressLine1: "12 Mill St", City: "Wellington", PostalCode: "6011", Country: "NZ" }
    ],
    Phones: [{ PhoneType: "DEFAULT", PhoneNumber: "5550100", PhoneAreaCode: "", PhoneCountryCode: "" }]
  },
  writable: {
    Name: text,
    FirstName: text,
    LastName: text,
    EmailAddress: text,
    AccountNumber: text,
    ContactNumber: text,
    ContactStatus: oneOf("ACTIVE", "ARCHIVED"),
    TaxNumber: text,
    DefaultCurrency: text,
    Addresses: list(address),
    Phones: list(record({ PhoneType: text, PhoneNumber: text }))
  },
  required: ["Name"],
  paged: true,
  filters: { IDs: texts, includeArchived: flag, summaryOnly: flag, searchTerm: text }
}

const line = record({
  LineItemID: text,
  ItemCode: text,
  Description: text,
  Quantity: decimal,
  UnitAmount: decimal,
  AccountCode: text,
  TaxType: text,
  LineAmount: decimal,
  DiscountRate: decimal
})

export const xeroInvoice: XeroResource = {
  name: "Invoice",
  plural: "Invoices",
  key: "InvoiceID",
  schema: record(
    {
      InvoiceID: text,
      InvoiceNumber: text,
      Type: text,
      Status: text,
      CurrencyCode: text,
      SubTotal: number,
      TotalTax: number,
      Total: number,
      AmountDue: number,
      LineItems: list(record())
    },
    "InvoiceID",
    "Status"
  ),
  mock: {
    InvoiceID: "243216c5-369e-4056-ac67-05388f86dc81",
    InvoiceNumber: "INV-0001",
    Type: "ACCREC",
    Status: "AUTHORISED",
    CurrencyCode: "NZD",
    DateString: "2026-11-01T00:00:00",
    DueDateString: "2026-12-01T00:00:00",
    SubTotal: 100,
    TotalTax: 15,
    Total: 115,
    AmountDue: 115,
    Contact: { ContactID: "bd2270c3-8706-4c11-9cfb-000b551c3f51", Name: "ABC Limited" },
    LineItems: [
      { LineItemID: "52208ff9", Description: "Pump", Quantity: 1, UnitAmount: 100, LineAmount: 100, TaxAmount: 15 }
    ]
  },
  writable: {
    Type: oneOf("ACCREC", "ACCPAY"),
    Contact: record({ ContactID: text, Name: text }),
    LineItems: list(line),
    Date: text,
    DueDate: text,
    LineAmountTypes: oneOf("Exclusive", "Inclusive", "NoTax"),
    InvoiceNumber: text,
    Reference: text,
    CurrencyCode: text,
    Status: oneOf("DRAFT", "SUBMITTED", "AUTHORISED", "DELETED", "VOIDED"),
    SentToContact: flag
  },
  required: ["Contact", "LineItems"],
  defaults: { Type: "{{args.Type ?? 'ACCREC'}}" },
  paged: true,
  filters: {
    IDs: texts,
    InvoiceNumbers: texts,
    ContactIDs: texts,
    Statuses: texts,
    searchTerm: text,
    createdByMyApp: flag,
    includeArchived: flag,
    summaryOnly: flag
  }
}

export const xeroPayment: XeroResource = {
  name: "Payment",
  plural: "Payments",
  key: "PaymentID",
  schema: record({ PaymentID: text, Amount: number, Status: text }, "PaymentID"),
  mock: {
    PaymentID: "99ea7f6b-c513-4066-bc27-b7c65dcd76c2",
    Amount: 115,
    Status: "AUTHORISED",
    Invoice: { InvoiceID: "243216c5-369e-4056-ac67-05388f86dc81" }
  },
  writable: {
    Invoice: record({ InvoiceID: text, InvoiceNumber: text }),
    Account: record({ AccountID: text, Code: text }),
    Date: text,
    Amount: decimal,
    Reference: text,
    IsReconciled: flag
  },
  required: ["Invoice", "Account", "Amount"],
  paged: true
}

export const xeroItem: XeroResource = {
  name: "Item",
  plural: "Items",
  key: "ItemID",
  schema: record({ ItemID: text, Code: text, Name: text, Description: text }, "ItemID", "Code"),
  mock: {
    ItemID: "19b79d12-0ae1-496e-9649-cbd04b15c7c5",
    Code: "PUMP",
    Name: "Pump",
    Description: "A pump",
    IsSold: true,
    IsTrackedAsInventory: false,
    SalesDetails: { UnitPrice: 100, AccountCode: "200" }
  },
  writable: {
    Code: text,
    Name: text,
    Description: text,
    PurchaseDescription: text,
    SalesDetails: record({ UnitPrice: decimal, AccountCode: text, TaxType: text }),
    PurchaseDetails: record({ UnitPrice: decimal, AccountCode: text, TaxType: text }),
    IsSold: flag,
    IsPurchased: flag,
    InventoryAssetAccountCode: text
  },
  required: ["Code"],
  paged: false
}

export const creditNote: XeroResource = {
  name: "CreditNote",
  plural: "CreditNotes",
  key: "CreditNoteID",
  schema: record({ CreditNoteID: text, CreditNoteNumber: text, Status: text, Total: number }, "CreditNoteID"),
  mock: {
    CreditNoteID: "aea95d78-ea48-456b-9b08-6bc012600072",
    CreditNoteNumber: "CN-0001",
    Status: "PAID",
    Total: 30
  },
  writable: {},
  required: [],
  paged: true
}

export const account: XeroResource = {
  name: "Account",
  plural: "Accounts",
  key: "AccountID",
  schema: record({ AccountID: text, Code: text, Name: text, Type: text, Status: text }, "AccountID", "Name"),
  mock: {
    AccountID: "ebd06280-af70-4bed-97c6-7451a454ad85",
    Code: "200",
    Name: "Sales",
    Type: "REVENUE",
    Status: "ACTIVE"
  },
  writable: {},
  required: [],
  paged: false
}
