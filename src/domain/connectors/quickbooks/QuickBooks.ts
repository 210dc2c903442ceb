/**
 * QuickBooks Online, Accounting API v3, minor version 75. https://developer.intuit.com/app/developer/qbo/docs/api
 * Lists are queries; a change needs the record's `SyncToken`.
 */
import { defineBuiltIn } from "../../connector/Definition.js"
import { args, type EventManifest, number, record, text } from "../SchemaShorthands.js"
import { entities } from "./Entities.js"
import {
  defineQuickbooksDelete,
  defineQuickbooksGet,
  quickbooksIdempotency,
  defineQuickbooksList,
  quickbooksResponse,
  quickbooksVersion,
  defineQuickbooksWrites
} from "./Requests.js"
import { quickbooksInvoice, quickbooksPayment, quickbooksResources } from "./Resources.js"

const events = (id: string, title: string, entity?: string): ReadonlyArray<EventManifest> =>
  ["created", "updated", "deleted"].map((verb) => ({
    id: `${id}.${verb}`,
    key: `qbo.${id}.${verb}.v1`,
    title: `${title} ${verb}`,
    delivery: "webhook",
    webhook: "app",
    payloadSchema: record({ type: text, intuitentityid: text, intuitaccountid: text, time: text }),
    ...(entity === undefined ? {} : { entity })
  }))

export const quickbooks = defineBuiltIn({
  svcConnector: 1,
  slug: "quickbooks",
  name: "QuickBooks Online",
  description: "Customers, items, invoices, payments, bills and vendors of a QuickBooks company.",
  kind: "accounting",
  version: "1.1.0",
  domain: "quickbooks.intuit.com",
  baseUrl: "https://{{connection.config.host ?? 'quickbooks.api.intuit.com'}}/v3/company/{{connection.config.realmId}}",
  connectionConfig: {
    type: "object",
    properties: {
      realmId: {
        type: "string",
        title: "Company",
        description: "The realm id; QuickBooks tells it when the account is connected",
        pattern: "^[0-9]{1,20}$"
      },
      host: {
        type: "string",
        title: "Environment",
        enum: ["quickbooks.api.intuit.com", "sandbox-quickbooks.api.intuit.com"]
      }
    }
  },
  auth: [
    {
      id: "oauth",
      type: "oauth2",
      title: "Intuit app",
      default: true,
      pkce: false,
      authorizationUrl: "https://appcenter.intuit.com/connect/oauth2",
      tokenUrl: "https://oauth.platform.intuit.com/oauth2/v1/tokens/bearer",
      revocationUrl: "https://developer.api.intuit.com/v2/oauth2/tokens/revoke",
      revocationBody: "json",
      scopes: ["com.intuit.quickbooks.accounting"],
      clientAuth: "basic",
      // An access token expires after an hour. The refresh token changes about once a day, and only the newest is valid,
      // for 100 days after its last use and five years in total.
      refresh: { rotates: true },
      callbackConfig: { realmId: "realmId" }
    }
  ],
  test: { action: "getCompany", accountLabel: "$.CompanyName" },
  // The limits are 10 requests a second and 500 a minute for an app and company; 8 a second keeps both.
  rateLimit: { scope: "connection", requests: 8, perSeconds: 1, concurrency: 10 },
  // QuickBooks sends no Retry-After; its documentation says to wait a minute.
  retry: { maxAttempts: 6, initialMs: 2_000, maxMs: 60_000 },
  actions: [
    {
      name: "getCompany",
      title: "Get the company",
      request: { method: "GET", path: "/companyinfo/{{connection.config.realmId}}", query: quickbooksVersion },
      response: { ...quickbooksResponse, map: "$.CompanyInfo" },
      inputSchema: args(),
      outputSchema: record({ Id: text, CompanyName: text, Country: text }, "CompanyName"),
      mocks: [{ name: "one", output: { Id: "1", CompanyName: "Acme", LegalName: "Acme Inc", Country: "US" } }]
    },
    ...quickbooksResources.flatMap((resource) => [
      defineQuickbooksList(resource),
      defineQuickbooksGet(resource),
      ...defineQuickbooksWrites(resource)
    ]),
    defineQuickbooksList({
      name: "Account",
      plural: "Accounts",
      schema: record({ Id: text, Name: text, AccountType: text, CurrentBalance: number }, "Id", "Name"),
      mock: { Id: "79", Name: "Sales of Product Income", AccountType: "Income", CurrentBalance: 0 }
    }),
    defineQuickbooksDelete(quickbooksInvoice),
    defineQuickbooksDelete(quickbooksPayment),
    {
      name: "sendInvoice",
      title: "E-mail an invoice to its customer",
      request: {
        method: "POST",
        path: "/invoice/{{args.Id}}/send",
        query: { sendTo: "{{args.sendTo}}", ...quickbooksVersion },
        headers: { "Content-Type": "application/octet-stream" }
      },
      response: { ...quickbooksResponse, map: "$.Invoice" },
      idempotency: quickbooksIdempotency,
      inputSchema: args({ Id: text, sendTo: text }, "Id"),
      outputSchema: quickbooksInvoice.schema,
      mocks: [{ name: "one", output: { ...quickbooksInvoice.mock, EmailStatus: "EmailSent" } }]
    }
  ],
  events: [
    ...events("customer", "Customer", "customer"),
    ...events("item", "Item", "item"),
    ...events("invoice", "Invoice", "invoice"),
    ...events("payment", "Payment"),
    ...events("bill", "Bill"),
    ...events("vendor", "Vendor")
  ],
  webhooks: [
    {
      id: "app",
      type: "app",
      // A list of CloudEvents.
      items: "$",
      eventKey: "$.type",
      account: { payload: "$.intuitaccountid", connection: "$.config.realmId" },
      verify: {
        scheme: "hmac",
        header: "intuit-signature",
        algorithm: "sha256",
        encoding: "base64",
        payload: "{body}",
        secretName: "QUICKBOOKS_WEBHOOK_VERIFIER"
      }
    }
  ],
  entities
})
