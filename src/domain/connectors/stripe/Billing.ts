/** Actions of Stripe on customers, products, prices, invoices and subscriptions. */
import {
  args,
  type ActionManifest,
  flag,
  integer,
  list,
  nullable,
  oneOf,
  record,
  text,
  texts
} from "../SchemaShorthands.js"
import {
  creationTimeFilter,
  defineStripeCreate,
  defineStripeDelete,
  defineStripeGet,
  defineStripeList,
  defineStripeUpdate,
  defineStripeOperation
} from "./Objects.js"

const addressInput = args({
  line1: text,
  line2: text,
  city: text,
  state: text,
  postal_code: text,
  country: text
})

const customer = {
  one: "customer",
  singular: "Customer",
  plural: "Customers",
  path: "/customers",
  schema: record(
    {
      id: text,
      name: nullable("string"),
      email: nullable("string"),
      phone: nullable("string"),
      address: { type: ["object", "null"] },
      created: integer
    },
    "id"
  ),
  mock: {
    id: "cus_NffrFeUfNV2Hib",
    object: "customer",
    name: "Ada Byron",
    email: "ada@example.com",
    phone: null,
    address: { line1: "12 Mill St", line2: null, city: "Ottawa", state: "ON", postal_code: "K1N", country: "CA" },
    created: 1795000000,
    metadata: {}
  },
  filters: { email: text, created: creationTimeFilter }
}
const customerInput = {
  name: text,
  email: text,
  phone: text,
  description: text,
  address: addressInput,
  shipping: record({ name: text, address: addressInput }, "name", "address"),
  invoice_settings: args({ default_payment_method: text })
}

const product = {
  one: "product",
  singular: "Product",
  plural: "Products",
  path: "/products",
  schema: record({ id: text, name: text, description: nullable("string"), active: flag, created: integer }, "id"),
  mock: {
    id: "prod_NWjs8kKbJWmuuc",
    object: "product",
    name: "Gold plan",
    description: null,
    active: true,
    created: 1795000000
  },
  filters: { ids: texts, active: flag, created: creationTimeFilter }
}
const productInput = { name: text, description: text, active: flag, default_price: text, images: texts, url: text }

const price = {
  one: "price",
  singular: "Price",
  plural: "Prices",
  path: "/prices",
  schema: record({ id: text, product: text, currency: text, unit_amount: nullable("integer"), active: flag }, "id"),
  mock: {
    id: "price_1MoBy5LkdIwHu7ixZhnattbh",
    object: "price",
    product: "prod_NWjs8kKbJWmuuc",
    currency: "usd",
    unit_amount: 1000,
    active: true
  },
  filters: {
    product: text,
    active: flag,
    currency: text,
    type: oneOf("one_time", "recurring"),
    created: creationTimeFilter
  }
}
const recurring = args({ interval: oneOf("day", "week", "month", "year"), interval_count: integer }, "interval")

const invoice = {
  one: "invoice",
  singular: "Invoice",
  plural: "Invoices",
  path: "/invoices",
  schema: record(
    {
      id: text,
      customer: text,
      status: nullable("string"),
      currency: text,
      subtotal: integer,
      total: integer,
      amount_due: integer,
      amount_paid: integer,
      due_date: nullable("integer"),
      number: nullable("string"),
      lines: record({ data: list(record()) })
    },
    "id"
  ),
  mock: {
    id: "in_1MtHbELkdIwHu7ixl4OzzPMv",
    object: "invoice",
    customer: "cus_NffrFeUfNV2Hib",
    status: "open",
    currency: "usd",
    subtotal: 1000,
    total: 1000,
    amount_due: 1000,
    amount_paid: 0,
    due_date: 1797600000,
    number: "A1B2-0001",
    created: 1795000000,
    lines: { object: "list", data: [], has_more: false }
  },
  filters: {
    customer: text,
    status: oneOf("draft", "open", "paid", "uncollectible", "void"),
    subscription: text,
    collection_method: oneOf("charge_automatically", "send_invoice"),
    created: creationTimeFilter,
    due_date: creationTimeFilter
  }
}
const collection = oneOf("charge_automatically", "send_invoice")

const invoiceItem = {
  one: "invoice item",
  singular: "InvoiceItem",
  plural: "InvoiceItems",
  path: "/invoiceitems",
  schema: record({ id: text, customer: text, amount: integer, currency: text, invoice: nullable("string") }, "id"),
  mock: { id: "ii_1MtGUtLkdIwHu7ixBYwjAM00", object: "invoiceitem", amount: 1099, currency: "usd", invoice: null },
  filters: { customer: text, invoice: text, pending: flag, created: creationTimeFilter }
}

const subscription = {
  one: "subscription",
  singular: "Subscription",
  plural: "Subscriptions",
  path: "/subscriptions",
  schema: record({ id: text, customer: text, status: text, items: record({ data: list(record()) }) }, "id"),
  mock: {
    id: "sub_1MowQVLkdIwHu7ixeRlqHVzs",
    object: "subscription",
    customer: "cus_NffrFeUfNV2Hib",
    status: "active",
    items: { object: "list", data: [], has_more: false }
  },
  filters: {
    customer: text,
    price: text,
    status: oneOf(
      "active",
      "past_due",
      "unpaid",
      "canceled",
      "incomplete",
      "incomplete_expired",
      "trialing",
      "paused",
      "ended",
      "all"
    ),
    created: creationTimeFilter
  }
}
const items = list(args({ id: text, price: text, quantity: integer, deleted: flag }))

export const billingActions: ReadonlyArray<ActionManifest> = [
  defineStripeList(customer),
  defineStripeGet(customer),
  defineStripeCreate(customer, { ...customerInput, payment_method: text }),
  defineStripeUpdate(customer, customerInput),
  defineStripeDelete(customer),
  defineStripeList(product),
  defineStripeGet(product),
  defineStripeCreate(product, productInput, "name"),
  defineStripeUpdate(product, productInput),
  defineStripeList(price),
  defineStripeGet(price),
  defineStripeCreate(
    price,
    { product: text, currency: text, unit_amount: integer, unit_amount_decimal: text, recurring, nickname: text },
    "product",
    "currency"
  ),
  defineStripeList(invoice),
  defineStripeGet(invoice),
  defineStripeCreate(
    invoice,
    {
      customer: text,
      currency: text,
      collection_method: collection,
      days_until_due: integer,
      due_date: integer,
      description: text,
      auto_advance: flag,
      pending_invoice_items_behavior: oneOf("include", "exclude")
    },
    "customer"
  ),
  defineStripeUpdate(invoice, {
    description: text,
    due_date: integer,
    collection_method: collection,
    auto_advance: flag
  }),
  defineStripeOperation(invoice, "finalize", "Finalize an invoice", { auto_advance: flag }),
  defineStripeOperation(invoice, "send", "Send an invoice to its customer"),
  defineStripeOperation(invoice, "void", "Void an invoice"),
  defineStripeDelete(invoice, "Delete a draft invoice"),
  defineStripeCreate(
    invoiceItem,
    {
      customer: text,
      invoice: text,
      amount: integer,
      currency: text,
      description: text,
      quantity: integer,
      unit_amount_decimal: text,
      pricing: args({ price: text })
    },
    "customer"
  ),
  defineStripeList(invoiceItem),
  defineStripeList(subscription),
  defineStripeGet(subscription),
  defineStripeCreate(
    subscription,
    {
      customer: text,
      items,
      currency: text,
      collection_method: collection,
      days_until_due: integer,
      default_payment_method: text,
      trial_period_days: integer,
      cancel_at_period_end: flag
    },
    "customer",
    "items"
  ),
  defineStripeUpdate(subscription, {
    items,
    cancel_at_period_end: flag,
    default_payment_method: text,
    proration_behavior: oneOf("create_prorations", "none", "always_invoice")
  }),
  {
    ...defineStripeDelete(subscription, "Cancel a subscription at once"),
    outputSchema: subscription.schema,
    mocks: [{ name: "canceled", output: { ...subscription.mock, status: "canceled" } }]
  }
]
