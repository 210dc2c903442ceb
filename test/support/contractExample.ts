/** The connector definition that the contract shows. */
import type { JsonObject } from "../../src/domain/Json.js"

/** The complete example of the contract. */
export const acme = {
  svcConnector: 1,
  slug: "acme-crm",
  name: "Acme CRM",
  kind: "crm",
  version: "1.2.0",
  baseUrl: "https://{{connection.config.subdomain}}.acme.example/v3",
  connectionConfig: {
    type: "object",
    properties: { subdomain: { type: "string", pattern: "^[a-z0-9-]+$", title: "Subdomain" } },
    required: ["subdomain"]
  },
  auth: [
    {
      id: "oauth",
      type: "oauth2",
      default: true,
      grant: "authorization_code",
      pkce: true,
      authorizationUrl: "https://acme.example/authorize",
      tokenUrl: "https://acme.example/token",
      revocationUrl: "https://acme.example/revoke",
      scopes: ["contacts.read"],
      scopeSeparator: " ",
      clientAuth: "basic",
      refresh: { rotates: true, reuseIntervalSeconds: 0, expiresInField: "expires_in", marginSeconds: 900 },
      inject: [{ in: "header", name: "Authorization", value: "Bearer {{credential.accessToken}}" }]
    },
    {
      id: "key",
      type: "api_key",
      fields: [{ name: "apiKey", secret: true, title: "API key" }],
      inject: [{ in: "header", name: "X-API-Key", value: "{{credential.apiKey}}" }]
    },
    { id: "basic", type: "basic" },
    { id: "sig", type: "custom", fields: [{ name: "secret", secret: true }], sign: "hook:hmacSha256" }
  ],
  test: { action: "getMe", accountLabel: "$.email" },
  rateLimit: {
    scope: "connection",
    requests: 100,
    perSeconds: 10,
    concurrency: 5,
    headers: {
      limit: "x-ratelimit-limit",
      remaining: "x-ratelimit-remaining",
      reset: "x-ratelimit-reset",
      resetFormat: "unix"
    }
  },
  retry: { on: [429, 502, 503, 504, "network"], maxAttempts: 4, backoff: "exponential", initialMs: 500 },
  actions: [
    {
      name: "listContacts",
      version: 3,
      title: "List contacts",
      readOnly: true,
      request: {
        method: "GET",
        path: "/contacts",
        query: { limit: "{{args.pageSize ?? 100}}", after: "{{args.after}}" },
        headers: {},
        body: null
      },
      response: { map: "$.results", errorWhen: { path: "ok", op: "eq", value: false }, errorMessage: "$.error" },
      pagination: { type: "cursor", next: "$.paging.next.after", param: "after", items: "$.results" },
      idempotency: { header: "Idempotency-Key" },
      inputSchema: { type: "object", properties: { pageSize: { type: "integer" } } },
      outputSchema: { type: "array" },
      timeoutMs: 30_000,
      mocks: [{ name: "two", output: [] }]
    },
    { name: "getMe", request: { method: "GET", path: "/me" } },
    { name: "createContact", request: { method: "POST", path: "/contacts", body: "{{args}}" } },
    { name: "subscribe", request: { method: "POST", path: "/hooks", body: { url: "{{args.url}}" } } },
    { name: "unsubscribe", request: { method: "DELETE", path: "/hooks/{{args.id}}" } }
  ],
  events: [
    {
      id: "contact.updated",
      title: "Contact updated",
      delivery: "poll",
      entity: "contact",
      poll: { action: "listContacts", key: "$.id", changedAt: "$.updatedAt", intervalSeconds: 300 }
    },
    { id: "contact.created", delivery: "webhook" }
  ],
  webhooks: [
    {
      id: "app",
      type: "app",
      eventKey: "$.type",
      account: { payload: "$.portalId", connection: "$.accountId" },
      subscribe: { action: "subscribe", args: { url: "{{webhook.url}}" }, idFrom: "$.id", expiresFrom: "$.expiresAt" },
      unsubscribe: { action: "unsubscribe", args: { id: "{{subscription.id}}" } },
      renew: { action: "subscribe", beforeSeconds: 86_400 },
      verify: { scheme: "hmac", clientSecret: true, header: "x-acme-signature" },
      challenge: { when: { path: "type", op: "eq", value: "url_verification" }, respond: "$.challenge" }
    }
  ],
  entities: [
    {
      name: "contact",
      cdm: "CDMContact",
      unified: "crm/contact",
      read: "listContacts",
      create: "createContact",
      fields: [
        { from: "properties.firstname", to: "firstName" },
        { from: "properties.email", to: "email", transforms: ["TRIM", "LOWER"] },
        { from: "addresses[0].city", to: "addresses[0].city" }
      ],
      fieldsOut: [{ from: "email", to: "properties.email" }]
    }
  ]
}

/** A copy of the document with another value at one path; `undefined` removes the member. */
export const withValue = (...changes: ReadonlyArray<readonly [path: string, value: unknown]>): JsonObject => {
  const document = structuredClone(acme)
  for (const [path, value] of changes) {
    const parts = path.split(".")
    const last = parts.pop() ?? ""
    // A test may follow any path in the document.
    // oxlint-disable-next-line typescript/no-explicit-any
    const holder = parts.reduce((at: any, part) => at[part], document)
    if (value === undefined) delete holder[last]
    else holder[last] = value
  }
  return JSON.parse(JSON.stringify(document))
}
