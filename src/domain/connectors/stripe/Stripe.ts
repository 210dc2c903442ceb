/** Stripe, API version 2025-08-27.basil. https://docs.stripe.com/api */
import { defineBuiltIn } from "../../connector/Definition.js"
import { amounts, nestedPairs, type EventManifest, pairs } from "../SchemaShorthands.js"
import { billingActions } from "./Billing.js"
import { apiVersion } from "./Objects.js"
import { paymentActions } from "./Payments.js"

const event = (id: string, title: string, entity?: string): EventManifest => ({
  id,
  title,
  delivery: "webhook",
  webhook: "endpoint",
  ...(entity === undefined ? {} : { entity })
})

/** Decimals of currencies, whose amounts are in the smallest unit. https://docs.stripe.com/currencies; ISK and UGX have two decimals at Stripe. */
const withoutDecimals = "BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF".split(" ")
const withThree = "BHD JOD KWD OMR TND".split(" ")
const minorUnits = {
  currency: "currency",
  decimals: Object.fromEntries([
    ...withoutDecimals.map((currency) => [currency, 0] as const),
    ...withThree.map((currency) => [currency, 3] as const)
  ])
}

/** Lists find what was created, not what was changed. */
const listArgs = { limit: "{{query.pageSize}}", created: { gt: "{{query.createdAfter.unix}}" } }

export const stripe = defineBuiltIn({
  svcConnector: 1,
  slug: "stripe",
  name: "Stripe",
  description: "Customers, products, payments, refunds, invoices and subscriptions of a Stripe account.",
  kind: "payments",
  version: "1.1.0",
  domain: "stripe.com",
  baseUrl: "https://api.stripe.com/v1",
  auth: [
    {
      id: "key",
      type: "api_key",
      title: "Secret or restricted key",
      default: true,
      fields: [{ name: "apiKey", title: "API key", secret: true, pattern: "^(sk|rk)_" }]
    },
    {
      id: "connect",
      type: "oauth2",
      title: "Stripe Connect",
      pkce: false,
      authorizationUrl: "https://connect.stripe.com/oauth/authorize",
      tokenUrl: "https://connect.stripe.com/oauth/token",
      scopes: ["read_write"],
      // The client secret is the platform's secret key. The access token does not expire.
      clientAuth: "body",
      refresh: { rotates: false },
      tokenConfig: { accountId: "$.stripe_user_id" }
    }
  ],
  test: { action: "getAccount", accountLabel: "$.settings.dashboard.display_name" },
  // The limit of a sandbox in total, and of each endpoint of a live account.
  rateLimit: { scope: "connection", requests: 25, perSeconds: 1 },
  retry: { on: [409, 429, 500, 502, 503, 504, "network"] },
  actions: [...paymentActions, ...billingActions],
  events: [
    event("customer.created", "Customer created", "customer"),
    event("customer.updated", "Customer changed", "customer"),
    event("customer.deleted", "Customer deleted", "customer"),
    event("product.created", "Product created", "product"),
    event("product.updated", "Product changed", "product"),
    event("payment_intent.succeeded", "Payment succeeded"),
    event("payment_intent.payment_failed", "Payment failed"),
    event("charge.refunded", "Charge refunded"),
    event("charge.dispute.created", "Dispute opened"),
    event("invoice.created", "Invoice created", "invoice"),
    event("invoice.finalized", "Invoice finalized", "invoice"),
    event("invoice.paid", "Invoice paid", "invoice"),
    event("invoice.payment_failed", "Payment of an invoice failed", "invoice"),
    event("invoice.voided", "Invoice voided", "invoice"),
    event("customer.subscription.created", "Subscription created"),
    event("customer.subscription.updated", "Subscription changed"),
    event("customer.subscription.deleted", "Subscription ended")
  ],
  webhooks: [
    {
      id: "endpoint",
      type: "per_event",
      eventKey: "$.type",
      subscribe: {
        action: "createWebhookEndpoint",
        args: { url: "{{webhook.url}}", enabled_events: ["{{event.key}}"], api_version: apiVersion },
        idFrom: "$.id",
        secretFrom: "$.secret"
      },
      unsubscribe: { action: "deleteWebhookEndpoint", args: { id: "{{subscription.id}}" } },
      verify: { preset: "stripe", subscriptionSecret: true }
    }
  ],
  entities: [
    {
      name: "customer",
      cdm: "CDMContact",
      read: "listCustomers",
      args: { read: listArgs },
      get: "getCustomer",
      create: "createCustomer",
      update: "updateCustomer",
      delete: "deleteCustomer",
      fields: [
        ...pairs({ id: "id", email: "email", name: "lastName", phone: "phone", created: "createdAt" }),
        ...nestedPairs("address", "addresses[0]", {
          line1: "line1",
          line2: "line2",
          city: "city",
          state: "state",
          postal_code: "postalCode",
          country: "country"
        }),
        ...pairs({ metadata: "customFields" })
      ],
      fieldsOut: [
        ...pairs({ id: "id", email: "email", phone: "phone", customFields: "metadata" }),
        { from: "lastName", to: "name", transforms: [{ fn: "CONCAT", args: [" ", "firstName", "lastName"] }] },
        ...nestedPairs("addresses[0]", "address", {
          line1: "line1",
          line2: "line2",
          city: "city",
          state: "state",
          postalCode: "postal_code",
          country: "country"
        })
      ]
    },
    {
      name: "product",
      cdm: "CDMProduct",
      read: "listProducts",
      args: { read: listArgs, delete: { id: "{{id}}", active: false } },
      get: "getProduct",
      create: "createProduct",
      update: "updateProduct",
      // Stripe deletes no product that has prices.
      delete: "updateProduct",
      fields: [
        ...pairs({ id: "id", name: "name", description: "description", created: "createdAt", updated: "updatedAt" }),
        { from: "active", to: "status", enum: { true: "active", false: "archived" } }
      ],
      fieldsOut: [
        ...pairs({ id: "id", name: "name", description: "description" }),
        { from: "status", to: "active", enum: { active: "true", draft: "false", archived: "false" } }
      ]
    },
    {
      name: "invoice",
      cdm: "CDMInvoice",
      read: "listInvoices",
      args: { read: listArgs },
      get: "getInvoice",
      minorUnits,
      fields: [
        ...pairs({
          id: "id",
          customer: "contact.id",
          customer_email: "contact.email",
          number: "invoiceNumber",
          due_date: "dueDate",
          created: "createdAt",
          "lines.data[*].description": "lineItems[*].name",
          "lines.data[*].quantity": "lineItems[*].quantity",
          "lines.data[*].pricing.price_details.product": "lineItems[*].productId"
        }),
        ...amounts({
          subtotal: "totals.subtotal",
          "shipping_cost.amount_total": "totals.shipping",
          total: "totals.total",
          "lines.data[*].pricing.unit_amount_decimal": "lineItems[*].unitPrice",
          "lines.data[*].amount": "lineItems[*].totalPrice"
        }),
        { from: "currency", to: "currency", transforms: ["UPPER"] },
        {
          from: "status",
          to: "status",
          enum: { draft: "draft", open: "authorised", paid: "paid", uncollectible: "authorised", void: "voided" }
        }
      ]
    }
  ]
})
