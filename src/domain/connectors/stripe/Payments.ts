/** Actions of Stripe on payments, refunds, the balance and events. */
import {
  type ActionManifest,
  args,
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
  defineStripeSingleton,
  defineStripeUpdate,
  defineStripeOperation
} from "./Objects.js"

const intent = {
  one: "payment intent",
  singular: "PaymentIntent",
  plural: "PaymentIntents",
  path: "/payment_intents",
  schema: record(
    {
      id: text,
      amount: integer,
      currency: text,
      status: text,
      customer: nullable("string"),
      latest_charge: nullable("string")
    },
    "id",
    "amount",
    "status"
  ),
  mock: {
    id: "pi_3MtwBwLkdIwHu7ix28a3tqPa",
    object: "payment_intent",
    amount: 2000,
    currency: "usd",
    status: "requires_payment_method",
    customer: null,
    latest_charge: null,
    created: 1795000000
  },
  filters: { customer: text, created: creationTimeFilter }
}
const intentInput = {
  amount: integer,
  currency: text,
  customer: text,
  description: text,
  payment_method: text,
  payment_method_types: texts,
  receipt_email: text,
  statement_descriptor_suffix: text
}

const charge = {
  one: "charge",
  singular: "Charge",
  plural: "Charges",
  path: "/charges",
  schema: record({ id: text, amount: integer, currency: text, status: text, paid: flag, refunded: flag }, "id"),
  mock: { id: "ch_3MmlLrLkdIwHu7ix0snN0B15", object: "charge", amount: 1099, currency: "usd", status: "succeeded" },
  filters: { customer: text, payment_intent: text, created: creationTimeFilter }
}

const refund = {
  one: "refund",
  singular: "Refund",
  plural: "Refunds",
  path: "/refunds",
  schema: record({ id: text, amount: integer, currency: text, status: nullable("string") }, "id"),
  mock: { id: "re_1Nispe2eZvKYlo2Cd31jOCgZ", object: "refund", amount: 1000, currency: "usd", status: "succeeded" },
  filters: { charge: text, payment_intent: text, created: creationTimeFilter }
}

const event = {
  one: "event",
  singular: "Event",
  plural: "Events",
  path: "/events",
  schema: record({ id: text, type: text, created: integer, data: record({ object: record() }) }, "id", "type"),
  mock: {
    id: "evt_1NG8Du2eZvKYlo2CUI79vXWy",
    object: "event",
    type: "customer.created",
    created: 1795000000,
    data: {}
  },
  filters: { type: text, types: texts, delivery_success: flag, created: creationTimeFilter }
}

const endpoint = {
  one: "webhook endpoint",
  singular: "WebhookEndpoint",
  plural: "WebhookEndpoints",
  path: "/webhook_endpoints",
  schema: record({ id: text, url: text, status: text, enabled_events: texts, secret: text }, "id"),
  mock: {
    id: "we_1Mr5jULkdIwHu7ix1ibLTM0x",
    object: "webhook_endpoint",
    url: "https://example.com/hook",
    status: "enabled",
    enabled_events: ["customer.created"],
    secret: "whsec_mock"
  },
  filters: {}
}

export const paymentActions: ReadonlyArray<ActionManifest> = [
  defineStripeSingleton(
    "getAccount",
    "Get the account",
    "/account",
    record({ id: text, email: nullable("string") }, "id"),
    {
      id: "acct_1Nv0FGQ9RKHgCVdK",
      object: "account",
      email: "owner@example.com",
      settings: { dashboard: { display_name: "Acme", timezone: "America/Toronto" } }
    }
  ),
  defineStripeSingleton(
    "getBalance",
    "Get the balance",
    "/balance",
    record({ available: list(record()), pending: list(record()) }),
    {
      object: "balance",
      available: [{ amount: 666670, currency: "usd" }],
      pending: [{ amount: 61414, currency: "usd" }]
    }
  ),
  defineStripeList(intent),
  defineStripeGet(intent),
  defineStripeCreate(
    intent,
    {
      ...intentInput,
      confirm: flag,
      off_session: flag,
      return_url: text,
      capture_method: oneOf("automatic", "automatic_async", "manual"),
      automatic_payment_methods: args({ enabled: flag, allow_redirects: oneOf("always", "never") }, "enabled")
    },
    "amount",
    "currency"
  ),
  defineStripeUpdate(intent, intentInput),
  defineStripeOperation(intent, "confirm", "Confirm a payment intent", {
    payment_method: text,
    return_url: text,
    off_session: flag
  }),
  defineStripeOperation(intent, "capture", "Capture an authorized payment", { amount_to_capture: integer }),
  defineStripeOperation(intent, "cancel", "Cancel a payment intent", {
    cancellation_reason: oneOf("duplicate", "fraudulent", "requested_by_customer", "abandoned")
  }),
  defineStripeList(charge),
  defineStripeGet(charge),
  defineStripeList(refund),
  defineStripeGet(refund),
  defineStripeCreate(refund, {
    charge: text,
    payment_intent: text,
    amount: integer,
    reason: oneOf("duplicate", "fraudulent", "requested_by_customer")
  }),
  defineStripeList(event),
  defineStripeGet(event),
  defineStripeCreate(
    endpoint,
    { url: text, enabled_events: texts, description: text, api_version: text },
    "url",
    "enabled_events"
  ),
  defineStripeDelete(endpoint)
]
