/**
 * ShipStation, API V1, maintained for existing integrations; V2 is a different API with its own keys.
 * https://docs.shipstation.com/apis/shipstation-v1
 */
import { defineBuiltIn } from "../../connector/Definition.js"
import { nestedPairs, type EventManifest, pairs, record, text } from "../SchemaShorthands.js"
import { orderMembers, shipStationActions } from "./Actions.js"

const event = (id: string, key: string, title: string, entity?: string): EventManifest => ({
  id,
  key,
  title,
  delivery: "webhook",
  webhook: "hooks",
  payloadSchema: record({ resource_url: text, resource_type: text }, "resource_url", "resource_type"),
  ...(entity === undefined ? {} : { entity })
})

const addressFields = {
  street1: "line1",
  street2: "line2",
  city: "city",
  state: "state",
  postalCode: "postalCode",
  country: "country",
  company: "company"
}
const reversed = {
  line1: "street1",
  line2: "street2",
  city: "city",
  state: "state",
  postalCode: "postalCode",
  country: "country",
  company: "company"
}

export const shipstation = defineBuiltIn({
  svcConnector: 1,
  slug: "shipstation",
  name: "ShipStation",
  description: "Orders, labels, shipments, products and customers in ShipStation.",
  kind: "fulfillment",
  version: "1.1.0",
  domain: "shipstation.com",
  baseUrl: "https://ssapi.shipstation.com",
  auth: [
    {
      id: "key",
      type: "basic",
      title: "API key and secret",
      default: true,
      fields: [
        { name: "username", title: "API key" },
        { name: "password", title: "API secret", secret: true }
      ]
    }
  ],
  test: { action: "listStores", accountLabel: "$[0].storeName" },
  rateLimit: {
    scope: "connection",
    requests: 40,
    perSeconds: 60,
    headers: {
      limit: "x-rate-limit-limit",
      remaining: "x-rate-limit-remaining",
      reset: "x-rate-limit-reset",
      resetFormat: "seconds",
      retryAfter: "retry-after"
    }
  },
  actions: shipStationActions,
  events: [
    event("order.imported", "ORDER_NOTIFY", "Orders imported", "order"),
    event("order.items_imported", "ITEM_ORDER_NOTIFY", "Order items imported", "order"),
    event("order.shipped", "SHIP_NOTIFY", "Orders shipped", "shipment"),
    event("order.items_shipped", "ITEM_SHIP_NOTIFY", "Order items shipped", "shipment"),
    event("fulfillment.shipped", "FULFILLMENT_SHIPPED", "Fulfillment shipped"),
    event("fulfillment.rejected", "FULFILLMENT_REJECTED", "Fulfillment rejected"),
    {
      id: "order.changed",
      title: "Order created or changed (by asking)",
      delivery: "poll",
      entity: "order",
      poll: {
        action: "listOrders",
        args: { sortBy: "ModifyDate", sortDir: "DESC" },
        key: "$.orderId",
        changedAt: "$.modifyDate",
        intervalSeconds: 300
      }
    }
  ],
  webhooks: [
    {
      id: "hooks",
      type: "per_event",
      eventKey: "$.resource_type",
      subscribe: {
        action: "createWebhook",
        args: { target_url: "{{webhook.url}}", event: "{{event.key}}", friendly_name: "svc" },
        idFrom: "$.id"
      },
      unsubscribe: { action: "deleteWebhook", args: { id: "{{subscription.id}}" } },
      // ShipStation does not sign deliveries, so a delivery is only a hint and its resource is read from the API.
      verify: { scheme: "none" }
    }
  ],
  entities: [
    {
      name: "order",
      cdm: "CDMOrder",
      read: "listOrders",
      get: "getOrder",
      create: "createOrder",
      update: "createOrder",
      delete: "deleteOrder",
      args: {
        read: {
          pageSize: "{{query.pageSize}}",
          createDateStart: "{{query.createdAfter.iso}}",
          modifyDateStart: "{{query.modifiedAfter.iso}}"
        },
        get: { orderId: "{{id}}" },
        // ShipStation replaces the order with the same key.
        update: {
          ...Object.fromEntries(orderMembers.map((name) => [name, `{{record.${name} ?? before.${name}}}`])),
          orderKey: "{{before.orderKey}}",
          orderNumber: "{{before.orderNumber}}"
        },
        delete: { orderId: "{{id}}" }
      },
      fields: [
        ...pairs({
          orderId: "id",
          customerId: "contact.id",
          customerEmail: "contact.email",
          "billTo.name": "contact.lastName",
          "billTo.phone": "contact.phone",
          taxAmount: "totals.tax",
          shippingAmount: "totals.shipping",
          orderTotal: "totals.total",
          amountPaid: "payments[0].amount",
          createDate: "createdAt",
          modifyDate: "updatedAt"
        }),
        {
          from: "orderStatus",
          to: "status",
          enum: {
            awaiting_payment: "pending",
            on_hold: "pending",
            awaiting_shipment: "processing",
            pending_fulfillment: "processing",
            shipped: "completed",
            cancelled: "cancelled"
          },
          fallback: "pending"
        },
        ...nestedPairs("items[*]", "lineItems[*]", {
          productId: "productId",
          sku: "sku",
          name: "name",
          quantity: "quantity",
          unitPrice: "unitPrice",
          taxAmount: "tax"
        }),
        ...nestedPairs("shipTo", "shippingAddress", addressFields),
        ...nestedPairs("billTo", "billingAddress", addressFields)
      ],
      fieldsOut: [
        // A new order needs the remote fields `orderNumber` and `orderDate`, too.
        ...pairs({
          "contact.email": "customerEmail",
          "contact.lastName": "billTo.name",
          "totals.tax": "taxAmount",
          "totals.shipping": "shippingAmount",
          "payments[0].amount": "amountPaid"
        }),
        {
          from: "status",
          to: "orderStatus",
          enum: {
            pending: "awaiting_payment",
            processing: "awaiting_shipment",
            completed: "shipped",
            cancelled: "cancelled",
            refunded: "cancelled"
          }
        },
        ...nestedPairs("lineItems[*]", "items[*]", {
          sku: "sku",
          name: "name",
          quantity: "quantity",
          unitPrice: "unitPrice",
          tax: "taxAmount"
        }),
        ...nestedPairs("shippingAddress", "shipTo", reversed),
        ...nestedPairs("billingAddress", "billTo", reversed)
      ]
    },
    {
      name: "shipment",
      cdm: "CDMFulfillment",
      read: "listShipments",
      args: {
        read: {
          pageSize: "{{query.pageSize}}",
          createDateStart: "{{query.createdAfter.iso}}",
          includeShipmentItems: true
        }
      },
      fields: [
        ...pairs({
          shipmentId: "id",
          orderId: "orderId",
          trackingNumber: "trackingNumber",
          carrierCode: "carrier",
          shipDate: "shippedAt",
          createDate: "createdAt"
        }),
        // ShipStation does not report the delivery here.
        { from: "voided", to: "status", enum: { true: "cancelled", false: "in_transit" } },
        ...nestedPairs("shipmentItems[*]", "lineItems[*]", {
          productId: "productId",
          sku: "sku",
          name: "name",
          quantity: "quantity",
          unitPrice: "unitPrice"
        })
      ]
    },
    {
      name: "product",
      cdm: "CDMProduct",
      read: "listProducts",
      get: "getProduct",
      args: { read: { pageSize: "{{query.pageSize}}", startDate: "{{query.createdAfter.iso}}" } },
      fields: [
        ...pairs({
          productId: "id",
          name: "name",
          sku: "sku",
          price: "pricingTiers[0].price",
          "productCategory.name": "category",
          createDate: "createdAt",
          modifyDate: "updatedAt"
        }),
        { from: "active", to: "status", enum: { true: "active", false: "archived" } }
      ]
    },
    {
      name: "customer",
      cdm: "CDMContact",
      read: "listCustomers",
      get: "getCustomer",
      args: { read: { pageSize: "{{query.pageSize}}" } },
      fields: pairs({
        customerId: "id",
        name: "lastName",
        email: "email",
        phone: "phone",
        company: "company",
        street1: "addresses[0].line1",
        street2: "addresses[0].line2",
        city: "addresses[0].city",
        state: "addresses[0].state",
        postalCode: "addresses[0].postalCode",
        countryCode: "addresses[0].country",
        createDate: "createdAt",
        modifyDate: "updatedAt"
      })
    }
  ]
})
