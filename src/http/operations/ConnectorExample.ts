/** The example of a connector in the documents. */
import type { JsonObject } from "../../domain/Json.js"

/** A connector that `POST /api/v1/connectors` accepts. */
export const exampleConnector: JsonObject = {
  svcConnector: 1,
  slug: "acme-crm",
  name: "Acme CRM",
  kind: "crm",
  version: "1.0.0",
  baseUrl: "https://api.acme.example/v3",
  auth: [
    {
      id: "oauth",
      type: "oauth2",
      grant: "authorization_code",
      authorizationUrl: "https://acme.example/authorize",
      tokenUrl: "https://acme.example/token",
      scopes: ["contacts.read"]
    },
    {
      id: "key",
      type: "api_key",
      fields: [{ name: "apiKey", secret: true, title: "API key" }],
      inject: [{ in: "header", name: "X-API-Key", value: "{{credential.apiKey}}" }]
    }
  ],
  actions: [
    {
      name: "listContacts",
      version: 1,
      title: "List contacts",
      readOnly: true,
      request: { method: "GET", path: "/contacts" },
      mocks: [{ name: "one contact", output: [{ id: "c-1", email: "ada@example.com" }] }]
    },
    {
      name: "subscribe",
      version: 1,
      title: "Subscribe to events",
      request: { method: "POST", path: "/webhooks", body: { url: "{{args.url}}", secret: "{{args.secret}}" } }
    }
  ],
  events: [{ id: "contact.created", delivery: "webhook" }],
  webhooks: [
    {
      id: "contacts",
      type: "per_event",
      subscribe: {
        action: "subscribe",
        args: { url: "{{webhook.url}}", secret: "{{webhook.secret}}" },
        idFrom: "$.id"
      },
      verify: { scheme: "hmac", subscriptionSecret: true, header: "x-acme-signature" }
    }
  ]
}
