/** Connector definitions for tests. */

/** A small valid definition; members of `more` override its members. */
export const acme = (slug: string, more: object = {}) => ({
  svcConnector: 1,
  slug,
  name: `Acme ${slug}`,
  kind: "crm",
  version: "1.0.0",
  baseUrl: "https://api.acme.example",
  auth: [{ id: "key", type: "api_key" }],
  actions: [{ name: "getMe", request: { method: "GET", path: "/me" } }],
  ...more
})

/** Members of a definition whose connections name the address of their system, as `base` of their configuration. */
export const ownBase = {
  baseUrl: "{{connection.config.base}}",
  connectionConfig: { type: "object", properties: { base: { type: "string" } }, required: ["base"] }
}

/** An OAuth2 method; members of `more` override its members. */
export const oauth = (more: object = {}) => ({
  id: "oauth",
  type: "oauth2",
  authorizationUrl: "https://acme.example/a",
  tokenUrl: "https://acme.example/t",
  ...more
})
