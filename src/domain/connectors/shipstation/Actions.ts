/** Actions of ShipStation on orders, shipments, products, customers and carriers. */
import {
  type ActionManifest,
  flag,
  integer,
  list,
  nullable,
  number,
  oneOf,
  record,
  text,
  time
} from "../SchemaShorthands.js"
import { defineShipStationList, defineShipStationRead, defineShipStationWrite } from "./Requests.js"

const address = record({
  name: nullable("string"),
  company: nullable("string"),
  street1: nullable("string"),
  street2: nullable("string"),
  city: nullable("string"),
  state: nullable("string"),
  postalCode: nullable("string"),
  country: nullable("string"),
  phone: nullable("string")
})
const statuses = ["awaiting_payment", "awaiting_shipment", "pending_fulfillment", "shipped", "on_hold", "cancelled"]
/** The confirmations of a delivery; only FedEx has the last one. */
const confirmation = oneOf("none", "delivery", "signature", "adult_signature", "direct_signature")
const order = record(
  {
    orderId: integer,
    orderNumber: text,
    orderKey: text,
    orderDate: text,
    orderStatus: text,
    customerEmail: nullable("string"),
    orderTotal: number,
    amountPaid: number,
    taxAmount: number,
    shippingAmount: number,
    items: list(record())
  },
  "orderId",
  "orderNumber",
  "orderStatus"
)
const home = {
  name: "Ada Byron",
  street1: "12 Mill St",
  city: "Austin",
  state: "TX",
  postalCode: "78703",
  country: "US"
}
const sold = {
  orderId: 94113592,
  orderNumber: "TEST-ORDER-1",
  orderKey: "0f6bec18",
  orderDate: "2026-11-01T08:46:27.0000000",
  orderStatus: "awaiting_shipment",
  customerEmail: "ada@example.com",
  billTo: home,
  shipTo: home,
  items: [{ orderItemId: 128836912, sku: "PUMP", name: "Pump", quantity: 2, unitPrice: 15 }],
  orderTotal: 34.5,
  amountPaid: 34.5,
  taxAmount: 4.5,
  shippingAmount: 0
}
const orderInput = {
  orderNumber: text,
  orderKey: text,
  orderDate: text,
  paymentDate: text,
  shipByDate: text,
  orderStatus: oneOf(...statuses),
  customerUsername: text,
  customerEmail: text,
  billTo: address,
  shipTo: address,
  items: list(record()),
  amountPaid: number,
  taxAmount: number,
  shippingAmount: number,
  customerNotes: text,
  internalNotes: text,
  gift: flag,
  giftMessage: text,
  requestedShippingService: text,
  carrierCode: text,
  serviceCode: text,
  packageCode: text,
  weight: record({ value: number, units: oneOf("pounds", "ounces", "grams") }),
  dimensions: record(),
  advancedOptions: record()
}

/** The members of an order that a change sends again. */
export const orderMembers = Object.keys(orderInput)

const shipment = record(
  { shipmentId: integer, orderId: integer, trackingNumber: nullable("string"), carrierCode: text, voided: flag },
  "shipmentId",
  "orderId"
)
const shipped = {
  shipmentId: 33974374,
  orderId: 94113592,
  orderNumber: "TEST-ORDER-1",
  createDate: "2026-11-02T09:00:00.0000000",
  shipDate: "2026-11-02",
  shipmentCost: 2.35,
  trackingNumber: "9400111899561704681189",
  carrierCode: "stamps_com",
  serviceCode: "usps_first_class_mail",
  voided: false,
  shipmentItems: null
}

const product = record({ productId: integer, sku: nullable("string"), name: text, active: flag }, "productId", "name")
const pump = {
  productId: 123,
  sku: "PUMP",
  name: "Pump",
  price: 15,
  active: true,
  modifyDate: "2026-11-01T08:46:27.0000000"
}
const customer = record({ customerId: integer, name: text, email: nullable("string") }, "customerId")
const ada = { ...home, customerId: 12345678, name: "Ada Byron", email: "ada@example.com" }
const hooks = [
  "ORDER_NOTIFY",
  "ITEM_ORDER_NOTIFY",
  "SHIP_NOTIFY",
  "ITEM_SHIP_NOTIFY",
  "FULFILLMENT_SHIPPED",
  "FULFILLMENT_REJECTED"
]
const said = record({ success: flag, message: nullable("string") })
const label = { shipmentId: 72513480, shipmentCost: 7.3, trackingNumber: "248201115029520", labelData: "JVBERi0=" }

export const shipStationActions: ReadonlyArray<ActionManifest> = [
  defineShipStationRead({
    name: "listStores",
    title: "List stores",
    path: "/stores",
    query: { showInactive: flag, marketplaceId: integer },
    output: list(record({ storeId: integer, storeName: text, marketplaceName: text }, "storeId", "storeName")),
    mock: [{ storeId: 22766, storeName: "Acme", marketplaceName: "Shopify", active: true }]
  }),
  defineShipStationList({
    name: "listOrders",
    title: "List orders",
    path: "/orders",
    items: "orders",
    item: order,
    filters: {
      orderStatus: oneOf(...statuses, "rejected_fulfillment"),
      orderNumber: text,
      customerName: text,
      itemKeyword: text,
      storeId: integer,
      createDateStart: time,
      createDateEnd: time,
      modifyDateStart: time,
      modifyDateEnd: time,
      orderDateStart: time,
      orderDateEnd: time,
      paymentDateStart: time,
      paymentDateEnd: time,
      importBatch: text
    },
    mock: sold
  }),
  defineShipStationRead({
    name: "getOrder",
    title: "Get an order",
    path: "/orders/{{args.orderId}}",
    needs: { orderId: integer },
    output: order,
    mock: sold
  }),
  defineShipStationWrite({
    name: "createOrder",
    title: "Create or change an order",
    description: "An order with the same orderKey is changed, unless it was shipped.",
    path: "/orders/createorder",
    writable: orderInput,
    required: ["orderNumber", "orderDate", "orderStatus", "billTo", "shipTo"],
    output: order,
    mock: sold
  }),
  defineShipStationWrite({
    name: "deleteOrder",
    title: "Delete an order",
    method: "DELETE",
    path: "/orders/{{args.orderId}}",
    needs: { orderId: integer },
    output: said,
    mock: { success: true, message: "The requested order has been deleted" }
  }),
  defineShipStationWrite({
    name: "markOrderShipped",
    title: "Mark an order as shipped",
    path: "/orders/markasshipped",
    writable: {
      orderId: integer,
      carrierCode: text,
      shipDate: text,
      trackingNumber: text,
      notifyCustomer: flag,
      notifySalesChannel: flag
    },
    required: ["orderId", "carrierCode"],
    output: record({ orderId: integer, orderNumber: text }, "orderId"),
    mock: { orderId: 94113592, orderNumber: "TEST-ORDER-1" }
  }),
  defineShipStationWrite({
    name: "createLabel",
    title: "Create an order's shipping label",
    path: "/orders/createlabelfororder",
    writable: {
      orderId: integer,
      carrierCode: text,
      serviceCode: text,
      packageCode: text,
      confirmation,
      shipDate: text,
      weight: record(),
      dimensions: record(),
      insuranceOptions: record(),
      internationalOptions: record(),
      advancedOptions: record(),
      testLabel: flag
    },
    // ShipStation requires both.
    defaults: { confirmation: "{{args.confirmation ?? 'none'}}", testLabel: "{{args.testLabel ?? false}}" },
    required: ["orderId", "carrierCode", "serviceCode", "shipDate"],
    output: record({ shipmentId: integer, trackingNumber: text, labelData: text }, "shipmentId"),
    mock: label
  }),
  defineShipStationWrite({
    name: "voidLabel",
    title: "Void a label",
    path: "/shipments/voidlabel",
    writable: { shipmentId: integer },
    required: ["shipmentId"],
    output: record({ approved: flag, message: text }, "approved"),
    mock: { approved: true, message: "Label voided successfully" }
  }),
  defineShipStationList({
    name: "listShipments",
    title: "List shipments",
    path: "/shipments",
    items: "shipments",
    item: shipment,
    filters: {
      recipientName: text,
      recipientCountryCode: text,
      orderId: integer,
      orderNumber: text,
      trackingNumber: text,
      carrierCode: text,
      serviceCode: text,
      storeId: integer,
      createDateStart: time,
      createDateEnd: time,
      shipDateStart: time,
      shipDateEnd: time,
      voidDateStart: time,
      voidDateEnd: time,
      includeShipmentItems: flag,
      batchId: text
    },
    mock: shipped
  }),
  defineShipStationWrite({
    name: "getRates",
    title: "Ask a carrier's rates",
    path: "/shipments/getrates",
    writable: {
      carrierCode: text,
      serviceCode: nullable("string"),
      packageCode: nullable("string"),
      fromPostalCode: text,
      toState: text,
      toCountry: text,
      toPostalCode: text,
      toCity: text,
      weight: record(),
      dimensions: record(),
      confirmation,
      residential: flag
    },
    required: ["carrierCode", "fromPostalCode", "toCountry", "toPostalCode", "weight"],
    output: list(record({ serviceName: text, serviceCode: text, shipmentCost: number, otherCost: number })),
    mock: [{ serviceName: "FedEx Ground", serviceCode: "fedex_ground", shipmentCost: 8.1, otherCost: 0 }]
  }),
  defineShipStationList({
    name: "listFulfillments",
    title: "List orders that others fulfilled",
    path: "/fulfillments",
    items: "fulfillments",
    item: record({ fulfillmentId: integer, orderId: integer, trackingNumber: nullable("string") }, "fulfillmentId"),
    filters: { orderId: integer, orderNumber: text, trackingNumber: text, createDateStart: time, shipDateStart: time },
    mock: { fulfillmentId: 33974374, orderId: 94113592, trackingNumber: "9400", carrierCode: "USPS" }
  }),
  defineShipStationList({
    name: "listProducts",
    title: "List products",
    path: "/products",
    items: "products",
    item: product,
    filters: { sku: text, name: text, productCategoryId: integer, startDate: time, endDate: time, showInactive: flag },
    mock: pump
  }),
  defineShipStationRead({
    name: "getProduct",
    title: "Get a product",
    path: "/products/{{args.productId}}",
    needs: { productId: integer },
    output: product,
    mock: pump
  }),
  defineShipStationList({
    name: "listCustomers",
    title: "List customers",
    path: "/customers",
    items: "customers",
    item: customer,
    filters: { stateCode: text, countryCode: text, marketplaceId: integer, tagId: integer },
    mock: ada
  }),
  defineShipStationRead({
    name: "getCustomer",
    title: "Get a customer",
    path: "/customers/{{args.customerId}}",
    needs: { customerId: integer },
    output: customer,
    mock: ada
  }),
  defineShipStationRead({
    name: "listCarriers",
    title: "List carriers",
    path: "/carriers",
    output: list(record({ name: text, code: text, balance: number }, "code")),
    mock: [{ name: "Stamps.com", code: "stamps_com", balance: 24.27 }]
  }),
  defineShipStationRead({
    name: "listServices",
    title: "List a carrier's services",
    path: "/carriers/listservices?carrierCode={{args.carrierCode}}",
    needs: { carrierCode: text },
    output: list(record({ carrierCode: text, code: text, name: text }, "code")),
    mock: [{ carrierCode: "fedex", code: "fedex_ground", name: "FedEx Ground" }]
  }),
  defineShipStationRead({
    name: "listWarehouses",
    title: "List warehouses",
    path: "/warehouses",
    output: list(record({ warehouseId: integer, warehouseName: text }, "warehouseId")),
    mock: [{ warehouseId: 12345, warehouseName: "Main" }]
  }),
  defineShipStationRead({
    name: "listWebhooks",
    title: "List webhooks",
    path: "/webhooks",
    output: record({ webhooks: list(record()) }, "webhooks"),
    mock: { webhooks: [{ WebHookID: 123, Active: true, HookType: "ORDER_NOTIFY", Url: "https://example.com/hook" }] }
  }),
  defineShipStationWrite({
    name: "createWebhook",
    title: "Subscribe to an event",
    path: "/webhooks/subscribe",
    writable: { target_url: text, event: oneOf(...hooks), store_id: nullable("integer"), friendly_name: text },
    required: ["target_url", "event"],
    output: record({ id: integer }),
    mock: { id: 123 }
  }),
  defineShipStationWrite({
    name: "deleteWebhook",
    title: "End a subscription",
    method: "DELETE",
    path: "/webhooks/{{args.id}}",
    needs: { id: integer },
    output: {},
    mock: {}
  })
]
