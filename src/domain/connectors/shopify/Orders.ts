/** Actions of Shopify on orders and fulfillments. */
import {
  args,
  type ActionManifest,
  nestedPairs,
  decimal,
  type EntityManifest,
  flag,
  fromArgs,
  id,
  integer,
  list,
  nullable,
  oneOf,
  pairs,
  record,
  text,
  time,
  upTo
} from "../SchemaShorthands.js"
import {
  defineShopifyCreate,
  defineShopifyDelete,
  defineShopifyGet,
  defineShopifyUpdate,
  shopifyListArgs
} from "./Requests.js"
import { addressFields } from "./Customers.js"

const lineItem = record({
  id,
  product_id: id,
  variant_id: id,
  title: text,
  sku: text,
  quantity: integer,
  price: decimal
})

const order = record(
  {
    id,
    name: text,
    order_number: integer,
    email: text,
    currency: text,
    financial_status: text,
    fulfillment_status: nullable("string"),
    cancelled_at: nullable("string"),
    subtotal_price: decimal,
    total_tax: decimal,
    total_discounts: decimal,
    total_price: decimal,
    created_at: time,
    updated_at: time,
    line_items: list(lineItem)
  },
  "id"
)

const fulfillment = record(
  {
    id,
    order_id: id,
    status: text,
    shipment_status: nullable("string"),
    tracking_company: nullable("string"),
    tracking_number: nullable("string"),
    tracking_url: nullable("string"),
    created_at: time,
    line_items: list(lineItem)
  },
  "id"
)

const tracking = record({ number: text, url: text, company: text })

const one = {
  id: 450789469,
  name: "#1001",
  order_number: 1001,
  email: "ada@example.com",
  currency: "USD",
  financial_status: "paid",
  fulfillment_status: null,
  subtotal_price: "49.00",
  total_tax: "4.90",
  total_discounts: "0.00",
  total_price: "58.90",
  created_at: "2026-11-02T09:00:00-05:00",
  updated_at: "2026-11-02T09:05:00-05:00",
  customer: { id: 207119551, email: "ada@example.com", first_name: "Ada", last_name: "Byron" },
  line_items: [
    {
      id: 466157049,
      product_id: 632910392,
      variant_id: 808950810,
      title: "Linen shirt",
      sku: "LIN-M",
      quantity: 1,
      price: "49.00"
    }
  ]
}
const shipped = {
  id: 255858046,
  order_id: 450789469,
  status: "success",
  shipment_status: null,
  tracking_company: "UPS",
  tracking_number: "1Z2345",
  tracking_url: "https://www.ups.com/track?tracknum=1Z2345",
  created_at: "2026-11-03T09:00:00-05:00"
}

const resource = { name: "Order", nameWithArticle: "an order", schema: order, mock: { name: "one", output: one } }

export const shopifyOrderActions: ReadonlyArray<ActionManifest> = [
  {
    name: "listOrders",
    title: "List orders",
    description: "Without status, Shopify lists open orders only; any lists all of them.",
    request: {
      method: "GET",
      path: "/orders.json",
      query: {
        limit: "{{args.limit ?? 250}}",
        status: "{{args.status ?? 'any'}}",
        ...fromArgs("ids", "financial_status", "fulfillment_status", "created_at_min", "updated_at_min", "fields")
      },
      queryStyle: "comma"
    },
    pagination: { type: "link", items: "$.orders" },
    inputSchema: args({
      limit: upTo(250),
      status: oneOf("open", "closed", "cancelled", "any"),
      ids: list(id),
      financial_status: text,
      fulfillment_status: text,
      created_at_min: time,
      updated_at_min: time,
      fields: list(text)
    }),
    outputSchema: record({ orders: list(order) }, "orders"),
    mocks: [{ name: "one", output: { orders: [one] } }]
  },
  defineShopifyGet(resource),
  defineShopifyCreate(
    resource,
    record(
      {
        line_items: list(record()),
        customer: record(),
        email: text,
        currency: text,
        financial_status: text,
        note: text,
        tags: text,
        test: flag,
        shipping_address: record(),
        billing_address: record(),
        transactions: list(record())
      },
      "line_items"
    )
  ),
  {
    ...defineShopifyUpdate(resource, {
      note: text,
      tags: text,
      email: text,
      phone: text,
      shipping_address: record(),
      note_attributes: list(record())
    }),
    description: "Shopify lets note, tags, e-mail, addresses and metafields be changed, not the lines."
  },
  defineShopifyDelete(resource),
  {
    name: "cancelOrder",
    title: "Cancel an order",
    request: {
      method: "POST",
      path: "/orders/{{args.id}}/cancel.json",
      body: fromArgs("reason", "email", "amount", "currency")
    },
    response: { map: "$.order" },
    inputSchema: args(
      {
        id,
        reason: oneOf("customer", "inventory", "fraud", "declined", "other"),
        email: flag,
        amount: decimal,
        currency: text
      },
      "id"
    ),
    outputSchema: order,
    mocks: [{ name: "cancelled", output: { ...one, cancelled_at: "2026-11-03T09:00:00-05:00" } }]
  },
  {
    name: "listFulfillmentOrders",
    title: "List what of an order is to be fulfilled",
    request: { method: "GET", path: "/orders/{{args.order_id}}/fulfillment_orders.json" },
    inputSchema: args({ order_id: id }, "order_id"),
    outputSchema: record({ fulfillment_orders: list(record({ id, status: text })) }, "fulfillment_orders"),
    mocks: [{ name: "open", output: { fulfillment_orders: [{ id: 1046000778, order_id: 450789469, status: "open" }] } }]
  },
  {
    name: "listFulfillments",
    title: "List an order's fulfillments",
    request: {
      method: "GET",
      path: "/orders/{{args.order_id}}/fulfillments.json",
      query: { limit: "{{args.limit ?? 250}}", ...fromArgs("updated_at_min") }
    },
    pagination: { type: "link", items: "$.fulfillments" },
    inputSchema: args({ order_id: id, limit: upTo(250), updated_at_min: time }, "order_id"),
    outputSchema: record({ fulfillments: list(fulfillment) }, "fulfillments"),
    mocks: [{ name: "one", output: { fulfillments: [shipped] } }]
  },
  {
    name: "listAllFulfillments",
    title: "List the fulfillments of all orders",
    description: "The times are those of the orders.",
    request: {
      method: "GET",
      path: "/orders.json",
      query: {
        limit: "{{args.limit ?? 250}}",
        status: "any",
        fields: "id,fulfillments",
        ...fromArgs("created_at_min", "updated_at_min")
      }
    },
    pagination: { type: "link", items: "$.orders[*].fulfillments" },
    inputSchema: args({ limit: upTo(250), created_at_min: time, updated_at_min: time }),
    outputSchema: record({ orders: list(record({ id, fulfillments: list(fulfillment) }, "id")) }, "orders"),
    mocks: [{ name: "one", output: { orders: [{ id: 450789469, fulfillments: [shipped] }] } }]
  },
  {
    name: "getFulfillment",
    title: "Get a fulfillment",
    request: { method: "GET", path: "/orders/{{args.order_id}}/fulfillments/{{args.id}}.json" },
    response: { map: "$.fulfillment" },
    inputSchema: args({ order_id: id, id }, "order_id", "id"),
    outputSchema: fulfillment,
    mocks: [{ name: "one", output: shipped }]
  },
  {
    name: "createFulfillment",
    title: "Fulfill fulfillment orders",
    request: { method: "POST", path: "/fulfillments.json", body: { fulfillment: "{{args}}" } },
    response: { map: "$.fulfillment" },
    inputSchema: args(
      {
        line_items_by_fulfillment_order: list(
          record({ fulfillment_order_id: id, fulfillment_order_line_items: list(record()) }, "fulfillment_order_id")
        ),
        tracking_info: tracking,
        notify_customer: flag,
        message: text
      },
      "line_items_by_fulfillment_order"
    ),
    outputSchema: fulfillment,
    mocks: [{ name: "one", output: shipped }]
  },
  {
    name: "updateTracking",
    title: "Update a fulfillment's tracking",
    request: {
      method: "POST",
      path: "/fulfillments/{{args.id}}/update_tracking.json",
      body: { fulfillment: fromArgs("notify_customer", "tracking_info") }
    },
    response: { map: "$.fulfillment" },
    inputSchema: args({ id, tracking_info: tracking, notify_customer: flag }, "id", "tracking_info"),
    outputSchema: fulfillment,
    mocks: [{ name: "one", output: shipped }]
  }
]

const lineFields = {
  product_id: "productId",
  variant_id: "variantId",
  title: "name",
  sku: "sku",
  quantity: "quantity",
  price: "unitPrice",
  total_discount: "discount"
}

const writtenAddress = Object.fromEntries(Object.entries(addressFields).map(([from, to]) => [to, from]))

export const orderEntity: EntityManifest = {
  name: "order",
  cdm: "CDMOrder",
  read: "listOrders",
  get: "getOrder",
  create: "createOrder",
  update: "updateOrder",
  delete: "deleteOrder",
  args: { read: shopifyListArgs },
  fields: [
    ...pairs({
      id: "id",
      "customer.id": "contact.id",
      "customer.email": "contact.email",
      "customer.first_name": "contact.firstName",
      "customer.last_name": "contact.lastName",
      currency: "currency",
      subtotal_price: "totals.subtotal",
      total_tax: "totals.tax",
      "total_shipping_price_set.shop_money.amount": "totals.shipping",
      total_discounts: "totals.discount",
      total_price: "totals.total",
      created_at: "createdAt",
      updated_at: "updatedAt"
    }),
    {
      from: "financial_status",
      to: "status",
      enum: {
        pending: "pending",
        authorized: "pending",
        partially_paid: "processing",
        paid: "processing",
        partially_refunded: "completed",
        refunded: "refunded",
        voided: "cancelled"
      },
      fallback: "pending"
    },
    ...nestedPairs("line_items[*]", "lineItems[*]", lineFields),
    ...nestedPairs("shipping_address", "shippingAddress", addressFields),
    ...nestedPairs("billing_address", "billingAddress", addressFields)
  ],
  fieldsOut: [
    ...nestedPairs("shippingAddress", "shipping_address", writtenAddress),
    ...nestedPairs("billingAddress", "billing_address", writtenAddress),
    ...pairs({
      "contact.id": "customer.id",
      "contact.email": "email",
      currency: "currency",
      "lineItems[*].variantId": "line_items[*].variant_id",
      "lineItems[*].name": "line_items[*].title",
      "lineItems[*].sku": "line_items[*].sku",
      "lineItems[*].quantity": "line_items[*].quantity",
      "lineItems[*].unitPrice": "line_items[*].price"
    })
  ]
}

export const fulfillmentEntity: EntityManifest = {
  name: "fulfillment",
  cdm: "CDMFulfillment",
  read: "listAllFulfillments",
  // Of an order's first fulfillment order, as a whole.
  create: ["listFulfillmentOrders", "createFulfillment"],
  args: {
    // An order changes with its fulfillments, and is older.
    read: { limit: "{{query.pageSize}}", updated_at_min: "{{query.modifiedAfter.iso}}" },
    create: [
      { order_id: "{{record.order_id}}" },
      {
        line_items_by_fulfillment_order: [{ fulfillment_order_id: "{{results[0].fulfillment_orders[0].id}}" }],
        tracking_info: { number: "{{record.tracking_number}}", company: "{{record.tracking_company}}" }
      }
    ]
  },
  fields: [
    ...pairs({
      id: "id",
      order_id: "orderId",
      tracking_number: "trackingNumber",
      tracking_company: "carrier",
      created_at: "shippedAt",
      updated_at: "updatedAt"
    }),
    {
      from: "status",
      to: "status",
      enum: {
        pending: "pending",
        open: "pending",
        success: "in_transit",
        cancelled: "cancelled",
        error: "failed",
        failure: "failed"
      }
    },
    ...nestedPairs("line_items[*]", "lineItems[*]", lineFields)
  ],
  fieldsOut: pairs({ orderId: "order_id", trackingNumber: "tracking_number", carrier: "tracking_company" })
}
