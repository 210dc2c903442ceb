import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { stripe as builtIn } from "../../../src/domain/connectors/stripe/Stripe.js"
import {
  type Calls,
  makeCaller,
  type Caller,
  hasItems,
  callEveryAction,
  hasMembers,
  idempotencyKeyOf,
  objectOf
} from "../../support/ConnectorCaller.js"
import type { Fake } from "../../support/fakes/Fake.js"
import { stripeFake } from "../../support/fakes/stripe.js"

const stripe = builtIn.definition()

let api: Fake
let acme: Caller

beforeAll(async () => {
  api = await stripeFake()
  acme = makeCaller(stripe, api.origin, { method: "key", credential: { apiKey: "sk_test_fake" } })
})
afterAll(() => api.close())

const lists = [
  "Customers",
  "Products",
  "Prices",
  "Invoices",
  "InvoiceItems",
  "Subscriptions",
  "PaymentIntents",
  "Charges",
  "Refunds",
  "Events"
]
const gets: Readonly<Record<string, string>> = {
  Customer: "cus_2",
  Product: "prod_2",
  Price: "price_2",
  Invoice: "in_2",
  Subscription: "sub_2",
  PaymentIntent: "pi_2",
  Charge: "ch_2",
  Refund: "re_2",
  Event: "evt_2"
}

const calls: Calls = {
  ...Object.fromEntries(lists.map((plural) => [`list${plural}`, [{ limit: 1 }, hasItems("data", 1)] as const])),
  ...Object.fromEntries(Object.entries(gets).map(([one, id]) => [`get${one}`, [{ id }, hasMembers({ id })] as const])),
  getAccount: [{}, hasMembers({ id: "acct_1" })],
  getBalance: [{}, hasMembers({ object: "balance" })],
  createCustomer: [
    { name: "Ada", address: { line1: "12 Mill St", country: "CA" } },
    hasMembers({ name: "Ada", address: { line1: "12 Mill St", country: "CA" } })
  ],
  updateCustomer: [
    { id: "cus_2", email: "b@example.com", invoice_settings: { default_payment_method: "pm_1" } },
    hasMembers({ id: "cus_2", email: "b@example.com", invoice_settings: { default_payment_method: "pm_1" } })
  ],
  deleteCustomer: [{ id: "cus_2" }, hasMembers({ deleted: true })],
  createProduct: [{ name: "Silver", metadata: { tier: "2" } }, hasMembers({ name: "Silver", metadata: { tier: "2" } })],
  updateProduct: [{ id: "prod_1", description: "Shiny" }, hasMembers({ description: "Shiny" })],
  createPrice: [
    { product: "prod_1", currency: "eur", unit_amount: 500, recurring: { interval: "month" } },
    hasMembers({ unit_amount: 500, recurring: { interval: "month" } })
  ],
  createInvoice: [
    { customer: "cus_1", days_until_due: 30, collection_method: "send_invoice" },
    hasMembers({ days_until_due: 30 })
  ],
  updateInvoice: [{ id: "in_1", description: "Hours" }, hasMembers({ description: "Hours" })],
  finalizeInvoice: [{ id: "in_1" }, hasMembers({ id: "in_1" })],
  sendInvoice: [{ id: "in_1" }, hasMembers({ id: "in_1" })],
  voidInvoice: [{ id: "in_1" }, hasMembers({ status: "void" })],
  deleteInvoice: [{ id: "in_1" }, hasMembers({ deleted: true })],
  createInvoiceItem: [{ customer: "cus_1", amount: 1099, currency: "usd" }, hasMembers({ amount: 1099 })],
  createSubscription: [{ customer: "cus_1", items: [{ price: "price_1" }] }, hasMembers({ customer: "cus_1" })],
  updateSubscription: [{ id: "sub_1", proration_behavior: "none" }, hasMembers({ id: "sub_1" })],
  deleteSubscription: [{ id: "sub_1" }, hasMembers({ id: "sub_1", status: "canceled" })],
  createPaymentIntent: [
    { amount: 2000, currency: "usd", automatic_payment_methods: { enabled: true } },
    hasMembers({ amount: 2000, automatic_payment_methods: { enabled: "true" } })
  ],
  updatePaymentIntent: [{ id: "pi_1", amount: 2100 }, hasMembers({ amount: 2100 })],
  confirmPaymentIntent: [
    { id: "pi_1", payment_method: "pm_card_visa" },
    hasMembers({ payment_method: "pm_card_visa" })
  ],
  capturePaymentIntent: [{ id: "pi_1", amount_to_capture: 10 }, hasMembers({ amount_to_capture: 10 })],
  cancelPaymentIntent: [
    { id: "pi_1", cancellation_reason: "abandoned" },
    hasMembers({ cancellation_reason: "abandoned" })
  ],
  createRefund: [{ payment_intent: "pi_1", amount: 100 }, hasMembers({ amount: 100 })],
  createWebhookEndpoint: [
    { url: "https://svc.example/hook", enabled_events: ["invoice.paid"], api_version: "2025-08-27.basil" },
    hasMembers({ enabled_events: ["invoice.paid"], api_version: "2025-08-27.basil", secret: "whsec_1" })
  ],
  deleteWebhookEndpoint: [{ id: "we_1" }, hasMembers({ deleted: true })]
}

describe("Stripe", () => {
  it("answers every action", () => callEveryAction(stripe, acme, calls))

  it("goes on after the last item of a page until there are no more", async () => {
    const pages = await acme.pages("listCustomers", { limit: 2 })
    assert.deepStrictEqual(
      pages.map((page) => page.map((item) => objectOf(item)["id"])),
      [["cus_1", "cus_2"], ["cus_3", "cus_4"], ["cus_5"]]
    )
  })

  it("sends nested members and lists as Stripe's forms have them", async () => {
    await acme.result("createSubscription", { customer: "cus_1", items: [{ price: "price_1" }] })
    assert.deepStrictEqual(Object.fromEntries(api.asked.at(-1)?.form() ?? []), {
      customer: "cus_1",
      "items[0][price]": "price_1"
    })
    await acme.result("listCharges", { created: { gte: 1795000000 }, expand: ["data.customer"] })
    assert.deepStrictEqual(Object.fromEntries(api.asked.at(-1)?.query ?? []), {
      limit: "100",
      "created[gte]": "1795000000",
      "expand[0]": "data.customer"
    })
  })

  it("sends an idempotency key, under which a second attempt is not a second payment", async () => {
    const fresh = await stripeFake()
    const acme = makeCaller(stripe, fresh.origin, { method: "key", credential: { apiKey: "sk_test_fake" } })
    const key = idempotencyKeyOf(1)
    const first = await acme.answer("createRefund", { amount: 100, payment_intent: "pi_1" }, key)
    const second = await acme.answer("createRefund", { amount: 100, payment_intent: "pi_1" }, key)
    assert.deepStrictEqual(first.body, second.body)
    assert.strictEqual(fresh.asked[0]?.headers["idempotency-key"], key)
    assert.isTrue(second.headers.some(([name]) => name === "idempotent-replayed"))
    const other = await acme.failure("createRefund", { amount: 200, payment_intent: "pi_1" })
    assert.include(other.message, "same parameters")
    await fresh.close()
  })

  it("tells Stripe's words and code", async () => {
    const missing = await acme.failure("getCustomer", { id: "cus_9" })
    assert.deepInclude(missing, {
      category: "provider",
      status: 404,
      code: "resource_missing",
      message: "No such object: 'cus_9'"
    })
    const stranger = makeCaller(stripe, api.origin, { method: "key", credential: { apiKey: "sk_test_other" } })
    assert.deepInclude(await stranger.failure("getBalance"), { category: "auth", status: 401 })
    api.plan({ status: 429, json: { error: { code: "rate_limit", message: "Too many requests" } } })
    assert.deepInclude(await acme.failure("getBalance"), { category: "transient", code: "rate_limit" })
  })
})
