/** The common entities of QuickBooks. They cannot be changed, since that needs the `SyncToken`, which they do not have. */
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
const metadata = pairs({ "MetaData.CreateTime": "createdAt", "MetaData.LastUpdatedTime": "updatedAt" })

export const entities: NonNullable<ConnectorManifest["entities"]> = [
  {
    name: "customer",
    cdm: "CDMContact",
    unified: "crm/contact",
    read: "listCustomers",
    get: "getCustomer",
    create: "createCustomer",
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
    get: "getItem",
    create: "createItem",
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
    fieldsOut: pairs({ name: "Name", sku: "Sku", description: "Description", "pricingTiers[0].price": "UnitPrice" })
  },
  {
    name: "invoice",
    cdm: "CDMInvoice",
    read: "listInvoices",
    get: "getInvoice",
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
    ]
  }
]
