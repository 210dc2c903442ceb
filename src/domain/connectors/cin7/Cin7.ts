/** Cin7 Core (before: DEAR Inventory), external API v2. https://dearinventory.docs.apiary.io */
import { defineBuiltIn } from "../../connector/Definition.js"
import { args, nestedPairs, type EventManifest, list, oneOf, pairs, record, text } from "../SchemaShorthands.js"
import { cin7ProductActions, productMembers } from "./Products.js"
import { defineCin7Read, cin7Response, defineCin7Write } from "./Requests.js"
import { cin7SaleActions, customerMembers } from "./Sales.js"

const event = (id: string, key: string, title: string, entity?: string): EventManifest => ({
  id,
  key,
  title,
  delivery: "webhook",
  webhook: "records",
  payloadSchema: record({ EventType: text }),
  ...(entity === undefined ? {} : { entity })
})

const subscription = record({ ID: text, Type: text, ExternalURL: text }, "ID")
const hook = {
  ID: "1cf8cb83-bf39-494b-87f9-1252b684d6d5",
  Type: "Sale/OrderAuthorised",
  IsActive: true,
  ExternalURL: "https://example.com/hook",
  ExternalAuthorizationType: "bearerauth"
}

/** Cin7 does not sign deliveries; it sends the token of the subscription. */
const subscribed = {
  type: "per_event",
  subscribe: {
    action: "createWebhook",
    args: {
      Type: "{{event.key}}",
      IsActive: true,
      ExternalURL: "{{webhook.url}}",
      ExternalAuthorizationType: "bearerauth",
      ExternalBearerToken: "{{webhook.secret}}"
    },
    idFrom: "$.ID"
  },
  unsubscribe: { action: "deleteWebhook", args: { ID: "{{subscription.id}}" } },
  verify: { scheme: "token", header: "authorization", prefix: "Bearer ", subscriptionSecret: true }
} as const

const listArgs = { limit: "{{query.pageSize}}", ModifiedSince: "{{query.modifiedAfter.iso}}" }
const membersBefore = (names: ReadonlyArray<string>) =>
  Object.fromEntries(names.map((name) => [name, `{{before.${name}}}`]))

export const cin7 = defineBuiltIn({
  svcConnector: 1,
  slug: "cin7-core",
  name: "Cin7 Core",
  description: "Products, stock, customers, sales and purchases in Cin7 Core (DEAR Inventory).",
  kind: "inventory",
  version: "1.1.0",
  domain: "cin7.com",
  baseUrl: "https://inventory.dearsystems.com/ExternalApi/v2",
  auth: [
    {
      id: "key",
      type: "api_key",
      title: "API application",
      default: true,
      fields: [
        { name: "accountId", title: "Account id" },
        { name: "applicationKey", title: "Application key", secret: true }
      ],
      inject: [
        { in: "header", name: "api-auth-accountid", value: "{{credential.accountId}}" },
        { in: "header", name: "api-auth-applicationkey", value: "{{credential.applicationKey}}" }
      ]
    }
  ],
  test: { action: "getCompany", accountLabel: "$.Company" },
  // Counted for each API application. Only refusals have the headers.
  rateLimit: {
    scope: "connection",
    requests: 60,
    perSeconds: 60,
    headers: {
      limit: "x-ratelimit-limit",
      remaining: "x-ratelimit-remaining",
      reset: "x-ratelimit-reset",
      resetFormat: "seconds",
      retryAfter: "retry-after"
    }
  },
  retry: { maxAttempts: 5, initialMs: 5_000, maxMs: 60_000 },
  actions: [
    {
      name: "getCompany",
      title: "Get the company",
      request: { method: "GET", path: "/me" },
      response: cin7Response,
      inputSchema: args(),
      outputSchema: record({ Company: text, Currency: text, TimeZone: text }, "Company"),
      mocks: [{ name: "acme", output: { Company: "Acme", Currency: "NZD", TimeZone: "(UTC+12:00) Auckland" } }]
    },
    ...cin7ProductActions,
    ...cin7SaleActions,
    {
      name: "listWebhooks",
      title: "List webhooks",
      request: { method: "GET", path: "/webhooks" },
      response: cin7Response,
      inputSchema: args(),
      outputSchema: record({ Webhooks: list(subscription) }, "Webhooks"),
      mocks: [{ name: "one", output: { Webhooks: [hook] } }]
    },
    defineCin7Write({
      name: "createWebhook",
      title: "Subscribe to an event",
      path: "/webhooks",
      writable: {
        Type: text,
        IsActive: { type: "boolean" },
        ExternalURL: text,
        ExternalAuthorizationType: oneOf("noauth", "basicauth", "bearerauth"),
        ExternalBearerToken: text
      },
      required: ["Type", "IsActive", "ExternalURL", "ExternalAuthorizationType"],
      item: subscription,
      mock: hook
    }),
    {
      ...defineCin7Read({
        name: "deleteWebhook",
        title: "End a subscription",
        path: "/webhooks",
        key: "ID",
        item: {},
        mock: {}
      }),
      request: { method: "DELETE", path: "/webhooks", query: { ID: "{{args.ID}}" } }
    }
  ],
  events: [
    event("sale.created", "Sale/Created", "Sale created", "sale"),
    event("sale.order_authorised", "Sale/OrderAuthorised", "Sale order authorised", "sale"),
    event("sale.voided", "Sale/Voided", "Sale voided", "sale"),
    event("sale.shipment_authorised", "Sale/ShipmentAuthorised", "Shipment authorised", "sale"),
    event("sale.tracking_changed", "Sale/ShipmentTrackingNumberChanged", "Tracking number changed", "sale"),
    event("sale.invoice_authorised", "Sale/InvoiceAuthorised", "Sale invoice authorised", "sale"),
    event("sale.paid", "Sale/FullPaymentReceived", "Sale paid in full", "sale"),
    event("purchase.order_authorised", "Purchase/OrderAuthorised", "Purchase order authorised"),
    event("purchase.stock_received", "Purchase/StockReceivedAuthorised", "Stock received"),
    event("customer.updated", "Customer/Updated", "Customer changed", "customer"),
    event("product.updated", "Product/Updated", "Product changed", "product"),
    {
      id: "stock.changed",
      key: "Stock/AvailableStockLevelChanged",
      title: "Available stock changed",
      delivery: "webhook",
      webhook: "stock",
      entity: "availability",
      payloadSchema: record({ ID: text, SKU: text, Location: text, Available: { type: "number" } })
    },
    // Webhooks need an add-on of Cin7; this event polls and does not.
    {
      id: "sale.changed",
      title: "Sale created or changed (by asking)",
      delivery: "poll",
      entity: "sale",
      poll: { action: "listSales", key: "$.SaleID", changedAt: "$.Updated", intervalSeconds: 300 }
    }
  ],
  webhooks: [
    { id: "records", eventKey: "$.EventType", ...subscribed },
    { id: "stock", items: "$", ...subscribed }
  ],
  entities: [
    {
      name: "product",
      cdm: "CDMProduct",
      read: "listProducts",
      get: "getProduct",
      create: "createProduct",
      update: "updateProduct",
      delete: "updateProduct",
      args: {
        read: listArgs,
        get: { ID: "{{id}}" },
        // Cin7 requires these; remote fields have others.
        create: {
          Type: "{{record.Type ?? 'Stock'}}",
          CostingMethod: "{{record.CostingMethod ?? 'FIFO'}}",
          UOM: "{{record.UOM ?? 'Item'}}",
          Status: "{{record.Status ?? 'Active'}}"
        },
        update: {
          ...Object.fromEntries(productMembers.map((name) => [name, `{{record.${name} ?? before.${name}}}`])),
          ID: "{{id}}"
        },
        delete: { ...membersBefore(productMembers), ID: "{{id}}", Status: "Deprecated" }
      },
      fields: [
        ...pairs({
          ID: "id",
          Name: "name",
          SKU: "sku",
          Description: "description",
          Category: "category",
          PriceTier1: "pricingTiers[0].price",
          LastModifiedOn: "updatedAt"
        }),
        { from: "Status", to: "status", enum: { Active: "active", Deprecated: "archived" } }
      ],
      fieldsOut: [
        ...pairs({
          name: "Name",
          sku: "SKU",
          description: "Description",
          category: "Category",
          "pricingTiers[0].price": "PriceTier1"
        }),
        { from: "status", to: "Status", enum: { active: "Active", archived: "Deprecated" } }
      ]
    },
    {
      name: "availability",
      cdm: "CDMInventoryLevel",
      read: "listAvailability",
      args: { read: { limit: "{{query.pageSize}}" } },
      fields: pairs({
        ID: "productId",
        Location: "locationId",
        Available: "available",
        OnHand: "onHand",
        Allocated: "committed"
      })
    },
    {
      name: "customer",
      cdm: "CDMContact",
      read: "listCustomers",
      get: "getCustomer",
      // A change would replace the contacts, of which the common record has one. Cin7 requires remote fields for a new one.
      create: "createCustomer",
      delete: "updateCustomer",
      args: {
        read: listArgs,
        get: { ID: "{{id}}" },
        create: { Status: "{{record.Status ?? 'Active'}}" },
        delete: { ...membersBefore(customerMembers), ID: "{{id}}", Status: "Deprecated" }
      },
      fields: [
        ...pairs({
          ID: "id",
          Name: "company",
          "Contacts[0].Name": "lastName",
          "Contacts[0].Email": "email",
          "Contacts[0].Phone": "phone",
          LastModifiedOn: "updatedAt"
        }),
        ...nestedPairs("Addresses[*]", "addresses[*]", {
          Line1: "line1",
          Line2: "line2",
          City: "city",
          State: "state",
          Postcode: "postalCode",
          Country: "country"
        })
      ]
    },
    {
      name: "sale",
      cdm: "CDMOrder",
      read: "listSales",
      get: "getSale",
      delete: "voidSale",
      args: {
        read: {
          limit: "{{query.pageSize}}",
          CreatedSince: "{{query.createdAfter.iso}}",
          UpdatedSince: "{{query.modifiedAfter.iso}}"
        },
        get: { ID: "{{id}}" },
        delete: { ID: "{{id}}" }
      },
      fields: [
        // In a list the member is SaleID.
        { from: "ID", to: "id", transforms: [{ fn: "COALESCE", args: ["ID", "SaleID"] }] },
        ...pairs({
          CustomerID: "contact.id",
          Customer: "contact.company",
          Email: "contact.email",
          CustomerCurrency: "currency",
          "Order.TotalBeforeTax": "totals.subtotal",
          "Order.Tax": "totals.tax",
          "Order.Total": "totals.total",
          SaleOrderDate: "createdAt",
          LastModifiedOn: "updatedAt"
        }),
        {
          from: "Status",
          to: "status",
          enum: {
            DRAFT: "pending",
            ESTIMATING: "pending",
            ESTIMATED: "pending",
            ORDERING: "pending",
            ORDERED: "processing",
            BACKORDERED: "processing",
            PICKING: "processing",
            PICKED: "processing",
            PACKING: "processing",
            PACKED: "processing",
            SHIPPING: "processing",
            INVOICING: "processing",
            INVOICED: "processing",
            CREDITED: "refunded",
            COMPLETED: "completed",
            VOIDED: "cancelled"
          }
        },
        ...nestedPairs("Order.Lines[*]", "lineItems[*]", {
          ProductID: "productId",
          SKU: "sku",
          Name: "name",
          Quantity: "quantity",
          Price: "unitPrice",
          Tax: "tax",
          Total: "totalPrice"
        }),
        ...nestedPairs("ShippingAddress", "shippingAddress", {
          Line1: "line1",
          Line2: "line2",
          City: "city",
          State: "state",
          Postcode: "postalCode",
          Country: "country",
          Company: "company"
        })
      ]
    }
  ]
})
