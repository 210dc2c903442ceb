/** Xero, Accounting API 2.0. https://developer.xero.com/documentation/api/accounting/overview */
import { type ConnectorManifest, defineBuiltIn } from "../../connector/Definition.js"
import { args, nestedPairs, type EventManifest, list, pairs, record, text } from "../SchemaShorthands.js"
import {
  defineUnpagedXeroList,
  defineXeroCreate,
  defineXeroGet,
  xeroHeaders,
  xeroIdempotency,
  defineXeroList,
  xeroResponse,
  defineXeroUpdate
} from "./Requests.js"
import { account, xeroContact, creditNote, xeroInvoice, xeroItem, xeroPayment } from "./Resources.js"

/** The granular scopes of apps created since March 2026; the broad scopes end in September 2027. */
const scopes = ["accounting.contacts", "accounting.invoices", "accounting.payments", "accounting.settings"]

const event = (id: string, key: string, title: string, entity?: string): EventManifest => ({
  id,
  key,
  title,
  delivery: "webhook",
  webhook: "app",
  payloadSchema: record({
    resourceUrl: text,
    resourceId: text,
    eventCategory: text,
    eventType: text,
    eventDateUtc: text,
    tenantId: text,
    tenantType: text
  }),
  ...(entity === undefined ? {} : { entity })
})

/** Lists find what was changed, not what was created. */
const changedAfter = { modifiedSince: "{{query.modifiedAfter.iso}}" }
const listArgs = { pageSize: "{{query.pageSize}}", ...changedAfter }

const manifest: ConnectorManifest = {
  svcConnector: 1,
  slug: "xero",
  name: "Xero",
  description: "Contacts, invoices, payments, items and accounts of a Xero organisation.",
  kind: "accounting",
  version: "1.1.0",
  domain: "xero.com",
  baseUrl: "https://api.xero.com/api.xro/2.0",
  connectionConfig: {
    type: "object",
    properties: {
      tenantId: {
        type: "string",
        title: "Organisation",
        description: "The tenant id; the first organisation that was connected, where it is left out",
        pattern: "^[0-9a-fA-F-]{36}$"
      }
    }
  },
  auth: [
    {
      id: "oauth",
      type: "oauth2",
      title: "Xero app",
      default: true,
      authorizationUrl: "https://login.xero.com/identity/connect/authorize",
      tokenUrl: "https://identity.xero.com/connect/token",
      revocationUrl: "https://identity.xero.com/connect/revocation",
      scopes: ["offline_access", ...scopes],
      clientAuth: "basic",
      // Access tokens expire after 30 minutes, refresh tokens after 60 days; a used one is accepted for 30 more minutes.
      refresh: { rotates: true, reuseIntervalSeconds: 1_800, marginSeconds: 300 }
    },
    {
      id: "custom_connection",
      type: "oauth2",
      title: "Custom connection",
      grant: "client_credentials",
      pkce: false,
      tokenUrl: "https://identity.xero.com/connect/token",
      scopes,
      clientAuth: "basic",
      refresh: { rotates: false, marginSeconds: 300 },
      fields: [
        { name: "clientId", title: "Client id" },
        { name: "clientSecret", title: "Client secret", secret: true }
      ]
    }
  ],
  test: { action: "listConnections", accountLabel: "$[0].tenantName", config: { tenantId: "$[0].tenantId" } },
  rateLimit: {
    scope: "connection",
    requests: 60,
    perSeconds: 60,
    concurrency: 5,
    headers: { remaining: "x-minlimit-remaining", retryAfter: "retry-after" }
  },
  actions: [
    {
      name: "listConnections",
      title: "List the organisations that were connected",
      request: { method: "GET", path: "https://api.xero.com/connections" },
      inputSchema: args(),
      outputSchema: list(record({ id: text, tenantId: text, tenantType: text, tenantName: text }, "tenantId")),
      mocks: [
        {
          name: "one",
          output: [
            {
              id: "e1eede29-f875-4a5d-8470-17f6a29a88b1",
              tenantId: "d99ecdfe-391d-43d2-b834-17636ba90e8d",
              tenantType: "ORGANISATION",
              tenantName: "Acme"
            }
          ]
        }
      ]
    },
    {
      name: "getOrganisation",
      title: "Get the organisation",
      request: { method: "GET", path: "/Organisation", headers: xeroHeaders },
      response: { ...xeroResponse, map: "$.Organisations[0]" },
      inputSchema: args(),
      outputSchema: record({ OrganisationID: text, Name: text, BaseCurrency: text, CountryCode: text }, "Name"),
      mocks: [
        { name: "one", output: { OrganisationID: "b2c885a9", Name: "Acme", BaseCurrency: "NZD", CountryCode: "NZ" } }
      ]
    },
    ...[xeroContact, xeroInvoice, xeroItem].flatMap((one) => [
      defineXeroList(one),
      defineXeroGet(one),
      defineXeroCreate(one),
      defineXeroUpdate(one)
    ]),
    defineXeroList(xeroPayment),
    defineXeroGet(xeroPayment),
    defineXeroCreate(xeroPayment),
    defineXeroList(creditNote),
    defineXeroGet(creditNote),
    defineXeroList(account),
    defineXeroGet(account),
    {
      name: "deleteItem",
      title: "Delete an item",
      request: { method: "DELETE", path: "/Items/{{args.ItemID}}", headers: xeroHeaders },
      response: xeroResponse,
      inputSchema: args({ ItemID: text }, "ItemID"),
      outputSchema: { type: "null" },
      mocks: [{ name: "deleted", output: null }]
    },
    {
      name: "emailInvoice",
      title: "E-mail an invoice to its contact",
      request: { method: "POST", path: "/Invoices/{{args.InvoiceID}}/Email", headers: xeroHeaders, body: {} },
      response: xeroResponse,
      idempotency: xeroIdempotency,
      inputSchema: args({ InvoiceID: text }, "InvoiceID"),
      outputSchema: { type: "null" },
      mocks: [{ name: "sent", output: null }]
    }
  ],
  events: [
    event("contact.changed", "CONTACT", "Contact created or changed", "contact"),
    event("invoice.changed", "INVOICE", "Invoice created or changed", "invoice"),
    event("creditnote.changed", "CREDITNOTE", "Credit note created or changed")
  ],
  webhooks: [
    {
      id: "app",
      type: "app",
      items: "$.events",
      eventKey: "$.eventCategory",
      account: { payload: "$.tenantId", connection: "$.config.tenantId" },
      verify: {
        scheme: "hmac",
        header: "x-xero-signature",
        algorithm: "sha256",
        encoding: "base64",
        payload: "{body}",
        secretName: "XERO_WEBHOOK_KEY"
      }
    }
  ],
  entities: [
    {
      name: "contact",
      cdm: "CDMContact",
      unified: "crm/contact",
      read: "listContacts",
      get: "getContact",
      create: "createContact",
      update: "updateContact",
      delete: "updateContact",
      args: { read: listArgs, delete: { ContactID: "{{id}}", ContactStatus: "ARCHIVED" } },
      fields: [
        ...pairs({
          ContactID: "id",
          Name: "company",
          FirstName: "firstName",
          LastName: "lastName",
          EmailAddress: "email",
          "Phones[0].PhoneNumber": "phone",
          UpdatedDateUTC: "updatedAt"
        }),
        ...nestedPairs("Addresses[*]", "addresses[*]", {
          AddressLine1: "line1",
          AddressLine2: "line2",
          City: "city",
          Region: "state",
          PostalCode: "postalCode",
          Country: "country"
        })
      ],
      // The name of a Xero contact is that of the company or person.
      fieldsOut: [
        ...pairs({ id: "ContactID", firstName: "FirstName", lastName: "LastName", email: "EmailAddress" }),
        { from: "company", to: "Name", transforms: [{ fn: "COALESCE", args: ["company", "lastName", "email"] }] },
        ...pairs({ phone: "Phones[0].PhoneNumber" }),
        ...nestedPairs("addresses[*]", "Addresses[*]", {
          line1: "AddressLine1",
          line2: "AddressLine2",
          city: "City",
          state: "Region",
          postalCode: "PostalCode",
          country: "Country"
        })
      ]
    },
    {
      name: "item",
      cdm: "CDMProduct",
      read: "listItems",
      get: "getItem",
      create: "createItem",
      update: "updateItem",
      delete: "deleteItem",
      args: { read: changedAfter },
      fields: pairs({
        ItemID: "id",
        Code: "sku",
        Name: "name",
        Description: "description",
        "SalesDetails.UnitPrice": "pricingTiers[0].price",
        QuantityOnHand: "inventory.onHand",
        UpdatedDateUTC: "updatedAt"
      }),
      fieldsOut: pairs({
        id: "ItemID",
        sku: "Code",
        name: "Name",
        description: "Description",
        "pricingTiers[0].price": "SalesDetails.UnitPrice"
      })
    },
    {
      name: "invoice",
      cdm: "CDMInvoice",
      read: "listInvoices",
      get: "getInvoice",
      create: "createInvoice",
      update: "updateInvoice",
      args: { read: listArgs },
      fields: [
        ...pairs({
          InvoiceID: "id",
          InvoiceNumber: "invoiceNumber",
          "Contact.ContactID": "contact.id",
          "Contact.Name": "contact.company",
          "Contact.EmailAddress": "contact.email",
          DueDate: "dueDate",
          UpdatedDateUTC: "updatedAt",
          CurrencyCode: "currency",
          SubTotal: "totals.subtotal",
          TotalTax: "totals.tax",
          TotalDiscount: "totals.discount",
          Total: "totals.total"
        }),
        {
          from: "Status",
          to: "status",
          enum: {
            DRAFT: "draft",
            SUBMITTED: "submitted",
            AUTHORISED: "authorised",
            PAID: "paid",
            VOIDED: "voided",
            DELETED: "voided"
          }
        },
        ...nestedPairs("LineItems[*]", "lineItems[*]", {
          ItemCode: "sku",
          Description: "name",
          Quantity: "quantity",
          UnitAmount: "unitPrice",
          LineAmount: "totalPrice",
          TaxAmount: "tax",
          DiscountAmount: "discount"
        }),
        ...nestedPairs("Payments[*]", "payments[*]", {
          PaymentID: "id",
          Amount: "amount",
          Date: "paidAt",
          Reference: "reference"
        })
      ],
      fieldsOut: [
        { from: "dueDate", to: "DueDate", dateFormat: "date" },
        ...pairs({
          id: "InvoiceID",
          "contact.id": "Contact.ContactID",
          currency: "CurrencyCode",
          invoiceNumber: "InvoiceNumber"
        }),
        {
          from: "status",
          to: "Status",
          enum: {
            draft: "DRAFT",
            submitted: "SUBMITTED",
            authorised: "AUTHORISED",
            voided: "VOIDED"
          }
        },
        ...nestedPairs("lineItems[*]", "LineItems[*]", {
          sku: "ItemCode",
          name: "Description",
          quantity: "Quantity",
          unitPrice: "UnitAmount"
        })
      ]
    }
  ]
}

export const xero = defineBuiltIn(manifest, [defineUnpagedXeroList(xeroItem), defineUnpagedXeroList(account)])
