/** What the connectors of Atlassian's cloud products share: the site, and the ways to sign in. */
import type { ConnectorManifest } from "../connector/Definition.js"

/** The config of a connection: the site, or Atlassian's gateway with the site's cloud id. `product`: as the gateway calls it. */
export const atlassianConfig = (
  product: "confluence" | "jira"
): NonNullable<ConnectorManifest["connectionConfig"]> => ({
  type: "object",
  properties: {
    url: {
      type: "string",
      title: "Site",
      description: `https://acme.atlassian.net for a token without scopes; else https://api.atlassian.com/ex/${product}/CLOUD_ID, with the cloud id that https://acme.atlassian.net/_edge/tenant_info tells`,
      pattern: `^https://([a-z0-9][a-z0-9-]{0,62}\\.atlassian\\.net|api\\.atlassian\\.com/ex/${product}/[0-9a-f-]{36})$`
    }
  },
  required: ["url"]
})

/** Signing in with an app, or with a person's API token. */
export const atlassianAuth = (scopes: ReadonlyArray<string>): ConnectorManifest["auth"] => [
  {
    id: "oauth",
    type: "oauth2",
    title: "Atlassian app",
    default: true,
    pkce: false,
    authorizationUrl: "https://auth.atlassian.com/authorize",
    tokenUrl: "https://auth.atlassian.com/oauth/token",
    scopes: [...scopes, "offline_access"],
    authorizationParams: { audience: "api.atlassian.com", prompt: "consent" },
    clientAuth: "body",
    // Access tokens expire after an hour; a used refresh token is accepted for ten more minutes.
    refresh: { rotates: true, reuseIntervalSeconds: 600, marginSeconds: 300 }
  },
  {
    id: "token",
    type: "basic",
    title: "API token",
    fields: [
      { name: "username", title: "E-mail address" },
      { name: "password", title: "API token", secret: true }
    ]
  }
]

/** Atlassian's limits depend on what requests cost, and are told in headers. */
export const atlassianRateLimit: NonNullable<ConnectorManifest["rateLimit"]> = {
  scope: "connection",
  concurrency: 10,
  headers: {
    limit: "x-ratelimit-limit",
    remaining: "x-ratelimit-remaining",
    reset: "x-ratelimit-reset",
    resetFormat: "iso",
    retryAfter: "retry-after"
  }
}
