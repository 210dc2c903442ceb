/** A connector with every way to send a credential, whose answers may repeat it. */

const base = "{{connection.config.base}}"
const header = (name: string, value: string) => [{ in: "header", name, value }]
const field = (name: string) => [{ name, secret: true }]
/** The body that creates it, with the secret of its OAuth client. */
export const leakyConnector = (clientSecret: string) => ({
  svcConnector: 1,
  slug: "leaky",
  name: "Leaky",
  kind: "crm",
  version: "1.0.0",
  baseUrl: base,
  connectionConfig: { type: "object", properties: { base: { type: "string" }, how: { type: "string" } } },
  auth: [
    {
      id: "oauth",
      type: "oauth2",
      default: true,
      authorizationUrl: `${base}/authorize`,
      tokenUrl: `${base}/token`,
      revocationUrl: `${base}/echo500`,
      clientId: "the-client",
      clientSecret,
      clientAuth: "body"
    },
    {
      id: "machine",
      type: "oauth2",
      grant: "client_credentials",
      tokenUrl: `${base}/token`,
      clientId: "m",
      clientSecret
    },
    { id: "key", type: "api_key", inject: header("X-API-Key", "{{credential.apiKey}}") },
    {
      id: "query",
      type: "api_key",
      fields: field("token"),
      inject: [{ in: "query", name: "t", value: "{{credential.token}}" }]
    },
    { id: "basic", type: "basic" },
    {
      id: "custom",
      type: "custom",
      fields: field("pin"),
      inject: [{ in: "body", name: "pin", value: "{{credential.pin}}" }]
    },
    { id: "signed", type: "custom", fields: field("secret"), sign: "hook:hmacSha256" }
  ],
  retry: { maxAttempts: 1 },
  test: { action: "me", accountLabel: "$.account" },
  actions: [
    { name: "me", request: { method: "POST", path: "/{{connection.config.how}}", body: { a: 1 } } },
    { name: "call", request: { method: "POST", path: "/{{args.how}}", body: { a: 1 } } }
  ]
})
