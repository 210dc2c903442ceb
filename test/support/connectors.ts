/** Connectors that tests describe. */

/** A small one that is valid; `more` goes over it. */
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

/** An OAuth2 method; `more` goes over it. */
export const oauth = (more: object = {}) => ({
  id: "oauth",
  type: "oauth2",
  authorizationUrl: "https://acme.example/a",
  tokenUrl: "https://acme.example/t",
  ...more
})
