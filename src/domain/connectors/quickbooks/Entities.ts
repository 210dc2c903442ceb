/** The common entities of QuickBooks. A change names the `SyncToken` of the record as it is. */
import type { ConnectorManifest } from "../../connector/Definition.js"
import { nestedPairs, pairs } from "../SchemaShorthands.js"

const addressFields = {
  Line1: "line1",
  Line2: "line2",
  City: "city",
  CountrySubDivisionCode: "state",
  PostalCode: "postalCode",
  Country: "country"
}
const after = (member: string, query: string) =>
  `MetaData.${member} > '{{query.${query}.iso ?? "1970-01-01T00:00:00.000Z"}}'`
/** Of the list, and of the one of records after a time, in QuickBooks' query language. */
const listArgs = {
  read: { maxResults: "{{query.pageSize}}" },
  search: {
    maxResults: "{{query.pageSize}}",
    filter: `where ${after("LastUpdatedTime", "modifiedAfter")} and ${after("CreateTime", "createdAfter")} orderby Id`
  }
}
const version = { Id: "{{id}}", SyncToken: "{{before.SyncToken}}" }
/** QuickBooks has no delete for what other records name. */
const inactive = { ...version, Active: false }

/** An item is changed as a whole: what is left out is cleared. */
const itemMembers = [
  "Name",
  "Sku",
  "Description",
  "Active",
  "Type",
  "UnitPrice",
  "PurchaseDesc",
  "PurchaseCost",
  "Taxable",
  "SalesTaxIncluded",
  "PurchaseTaxIncluded",
  "SubItem",
  "ParentRef",
  "TrackQtyOnHand",
  "QtyOnHand",
  "InvStartDate",
  "ReorderPoint",
  "IncomeAccountRef",
  "ExpenseAccountRef",
  "AssetAccountRef",
  "PrefVendorRef",
  "ClassRef",
  "SalesTaxCodeRef",
  "PurchaseTaxCodeRef",
  "TaxClassificationRef",
  "ItemCategoryType"
]
const itemBefore = Object.fromEntries(itemMembers.map((name) => [name, `{{before.${name}}}`]))

const metadata = pairs({ "MetaData.CreateTime": "createdAt", "MetaData.LastUpdatedTime": "updatedAt" })

export const entities: NonNullable<ConnectorManifest["entities"]> = [
  {
    name: "customer",
    cdm: "CDMContact",
    unified: "crm/contact",
    read: "listCustomers",
    search: "listCustomers",
    get: "getCustomer",
    create: "createCustomer",
    update: "updateCustomer",
    delete: "updateCustomer",
    args: { ...listArgs, get: { Id: "{{id}}" }, update: version, delete: inactive },
    fields: [
      ...pairs({
        Id: "id",
        GivenName: "firstName",
        FamilyName: "lastName",
        CompanyName: "company",
        "PrimaryEmailAddr.Address": "email",
        "PrimaryPhone.FreeFormNumber": "phone"
      }),
      ...nestedPairs("BillAddr", "addresses[0]", addressFields),
      ...metadata
    ]
  },
  {
    name: "item",
    cdm: "CDMProduct",
    read: "listItems",
    search: "listItems",
    get: "getItem",
    create: "createItem",
    update: "updateItem",
    delete: "updateItem",
    args: {
      ...listArgs,
      get: { Id: "{{id}}" },
      update: {
        ...version,
        ...Object.fromEntries(itemMembers.map((name) => [name, `{{record.${name} ?? before.${name}}}`]))
      },
      delete: { ...itemBefore, ...inactive }
    },
    fields: [
      ...pairs({
        Id: "id",
        Name: "name",
        Sku: "sku",
        Description: "description",
        UnitPrice: "pricingTiers[0].price",
        QtyOnHand: "inventory.onHand"
      }),
      { from: "Active", to: "status", enum: { true: "active", false: "archived" } },
      ...metadata
    ],
    fieldsOut: [
      ...pairs({ name: "Name", sku: "Sku", description: "Description", "pricingTiers[0].price": "UnitPrice" }),
      { from: "status", to: "Active", enum: { active: true, archived: false } }
    ]
  },
  {
    name: "invoice",
    cdm: "CDMInvoice",
    read: "listInvoices",
    search: "listInvoices",
    get: "getInvoice",
    create: "createInvoice",
    update: "updateInvoice",
    delete: "deleteInvoice",
    args: { ...listArgs, get: { Id: "{{id}}" }, update: version, delete: version },
    fields: [
      ...pairs({
        Id: "id",
        DocNumber: "invoiceNumber",
        "CustomerRef.value": "contact.id",
        "BillEmail.Address": "contact.email",
        DueDate: "dueDate",
        "CurrencyRef.value": "currency",
        "TxnTaxDetail.TotalTax": "totals.tax",
        TotalAmt: "totals.total",
        "Line[*].Description": "lineItems[*].name",
        "Line[*].Amount": "lineItems[*].totalPrice",
        "Line[*].SalesItemLineDetail.ItemRef.value": "lineItems[*].productId",
        "Line[*].SalesItemLineDetail.Qty": "lineItems[*].quantity",
        "Line[*].SalesItemLineDetail.UnitPrice": "lineItems[*].unitPrice"
      }),
      // QuickBooks has no status; the balance shows it.
      { from: "Balance", to: "status", enum: { 0: "paid" }, fallback: "authorised" },
      ...metadata
    ],
    fieldsOut: [
      ...pairs({
        invoiceNumber: "DocNumber",
        "contact.id": "CustomerRef.value",
        "contact.email": "BillEmail.Address",
        currency: "CurrencyRef.value",
        "lineItems[*].name": "Line[*].Description",
        "lineItems[*].totalPrice": "Line[*].Amount",
        "lineItems[*].productId": "Line[*].SalesItemLineDetail.ItemRef.value",
        "lineItems[*].quantity": "Line[*].SalesItemLineDetail.Qty",
        "lineItems[*].unitPrice": "Line[*].SalesItemLineDetail.UnitPrice"
      }),
      // QuickBooks requires the amount, and with it the kind of every line.
      { from: "lineItems[*].totalPrice", to: "Line[*].DetailType", enum: {}, fallback: "SalesItemLineDetail" },
      { from: "dueDate", to: "DueDate", dateFormat: "date" }
    ]
  }
]
