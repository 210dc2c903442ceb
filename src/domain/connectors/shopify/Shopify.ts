/**
 * Shopify, Admin REST API 2026-07. https://shopify.dev/docs/api/admin-rest
 * Shopify serves a version for twelve months, afterwards the oldest supported one.
 */
import { defineBuiltIn } from "../../connector/Definition.js"
import { args, type EventManifest, fromArgs, id, oneOf, record, text } from "../SchemaShorthands.js"
import { customerEntity, shopifyCustomerActions } from "./Customers.js"
import { fulfillmentEntity, orderEntity, shopifyOrderActions } from "./Orders.js"
import { productEntity, shopifyProductActions } from "./Products.js"
import { inventoryEntity, shopifyStockActions } from "./Stock.js"

const topic = (id: string, key: string, title: string, entity: string): EventManifest => ({
  id,
  key,
  title,
  entity,
  delivery: "webhook",
  webhook: "topics"
})

const subscription = record({ id, topic: text, address: text, format: text })

export const shopify = defineBuiltIn({
  svcConnector: 1,
  slug: "shopify",
  name: "Shopify",
  description: "Products, customers, orders, fulfillments and stock of a Shopify shop.",
  kind: "ecommerce",
  version: "1.1.0",
  domain: "shopify.com",
  baseUrl: "https://{{connection.config.shop}}.myshopify.com/admin/api/2026-07",
  connectionConfig: {
    type: "object",
    properties: {
      shop: {
        type: "string",
        title: "Shop",
        description: "What stands before .myshopify.com in the shop's address",
        pattern: "^[a-z0-9][a-z0-9-]{0,62}$"
      }
    },
    required: ["shop"]
  },
  auth: [
    {
      id: "oauth",
      type: "oauth2",
      title: "Shopify app",
      default: true,
      pkce: false,
      authorizationUrl: "https://{{connection.config.shop}}.myshopify.com/admin/oauth/authorize",
      tokenUrl: "https://{{connection.config.shop}}.myshopify.com/admin/oauth/access_token",
      scopes: [
        "read_products",
        "write_products",
        "read_customers",
        "write_customers",
        "read_orders",
        "write_orders",
        "read_fulfillments",
        "read_inventory",
        "write_inventory",
        "read_locations",
        "read_merchant_managed_fulfillment_orders",
        "write_merchant_managed_fulfillment_orders"
      ],
      scopeSeparator: ",",
      clientAuth: "body",
      // Offline tokens expire after an hour. A used refresh token can be used again until its successor is used, for at
      // most 30 days.
      tokenParams: { expiring: "1" },
      refresh: { rotates: true, reuseIntervalSeconds: 2_592_000 },
      inject: [{ in: "header", name: "X-Shopify-Access-Token", value: "{{credential.accessToken}}" }]
    },
    {
      id: "token",
      type: "api_key",
      title: "Custom app",
      fields: [{ name: "accessToken", title: "Admin API access token", secret: true }],
      inject: [{ in: "header", name: "X-Shopify-Access-Token", value: "{{credential.accessToken}}" }]
    }
  ],
  test: { action: "getShop", accountLabel: "$.name" },
  // A leaky bucket of 40 that drains two a second on the smallest plan; a header has the limit of the shop's plan.
  rateLimit: {
    scope: "connection",
    requests: 40,
    perSeconds: 20,
    headers: { usage: "x-shopify-shop-api-call-limit", retryAfter: "retry-after" }
  },
  actions: [
    {
      name: "getShop",
      title: "Get the shop",
      request: { method: "GET", path: "/shop.json" },
      response: { map: "$.shop" },
      inputSchema: args(),
      outputSchema: record({ id, name: text, email: text, myshopify_domain: text, currency: text }, "id", "name"),
      mocks: [
        {
          name: "acme",
          output: { id: 548380009, name: "Acme", myshopify_domain: "acme.myshopify.com", currency: "USD" }
        }
      ]
    },
    ...shopifyProductActions,
    ...shopifyCustomerActions,
    ...shopifyOrderActions,
    ...shopifyStockActions,
    {
      name: "createWebhook",
      title: "Subscribe to a topic",
      request: {
        method: "POST",
        path: "/webhooks.json",
        body: { webhook: { format: "json", ...fromArgs("topic", "address", "fields") } }
      },
      response: { map: "$.webhook" },
      inputSchema: args(
        { topic: text, address: text, fields: { type: "array", items: text }, format: oneOf("json") },
        "topic",
        "address"
      ),
      outputSchema: subscription,
      mocks: [{ name: "one", output: { id: 4759306, topic: "orders/create", address: "https://example.com/hook" } }]
    },
    {
      name: "deleteWebhook",
      title: "End a subscription",
      request: { method: "DELETE", path: "/webhooks/{{args.id}}.json" },
      inputSchema: args({ id }, "id"),
      mocks: [{ name: "deleted", output: {} }]
    }
  ],
  events: [
    topic("order.created", "orders/create", "Order created", "order"),
    topic("order.updated", "orders/updated", "Order changed", "order"),
    topic("order.paid", "orders/paid", "Order paid", "order"),
    topic("order.cancelled", "orders/cancelled", "Order cancelled", "order"),
    topic("order.fulfilled", "orders/fulfilled", "Order fulfilled", "order"),
    topic("product.created", "products/create", "Product created", "product"),
    topic("product.updated", "products/update", "Product changed", "product"),
    topic("product.deleted", "products/delete", "Product deleted", "product"),
    topic("customer.created", "customers/create", "Customer created", "customer"),
    topic("customer.updated", "customers/update", "Customer changed", "customer"),
    topic("fulfillment.created", "fulfillments/create", "Fulfillment created", "fulfillment"),
    topic("fulfillment.updated", "fulfillments/update", "Fulfillment changed", "fulfillment"),
    topic("inventory.updated", "inventory_levels/update", "Stock changed", "inventory_level")
  ],
  webhooks: [
    {
      id: "topics",
      type: "per_event",
      eventHeader: "x-shopify-topic",
      subscribe: {
        action: "createWebhook",
        args: { topic: "{{event.key}}", address: "{{webhook.url}}" },
        idFrom: "$.id"
      },
      unsubscribe: { action: "deleteWebhook", args: { id: "{{subscription.id}}" } },
      verify: { preset: "shopify", clientSecret: true, idHeader: "x-shopify-webhook-id" }
    }
  ],
  entities: [productEntity, customerEntity, orderEntity, fulfillmentEntity, inventoryEntity]
})
