/** A provider with OAuth, API keys and an API. A test sets rotation and delays; the provider records all requests. */
import { createHash, randomBytes } from "node:crypto"
import { createTestServer } from "./httpServer.js"
import type { AddressInfo } from "node:net"

interface Call {
  readonly target: string
  readonly authorization: string
  readonly key: string
  readonly idempotencyKey: string
}

export interface OAuthProvider {
  readonly url: string
  /** The bodies of the requests to the token endpoint. */
  readonly tokenRequests: ReadonlyArray<{ readonly [name: string]: string }>
  /** When each of them arrived, in Unix milliseconds. */
  readonly tokenRequestedAt: ReadonlyArray<number>
  readonly revoked: ReadonlyArray<string>
  /** The headers and targets of the requests to the API. */
  readonly calls: ReadonlyArray<Call>
  /** Settings that a test may change while the provider runs. */
  readonly behaviour: {
    latencyMillis: number
    /** What the answers of the token endpoint wait for, too. */
    held: Promise<void> | undefined
    rotates: boolean
    expiresIn: number
    /** If set, the answer of the token endpoint. */
    refuses: { status: number; body: object } | undefined
    /** Whether the reuse of a refresh token ends its grant. */
    strict: boolean
    apiStatus: number
  }
  /** Issues tokens without the OAuth flow, as an earlier system received them. */
  readonly issue: () => { readonly accessToken: string; readonly refreshToken: string }
  /** Ends every access token before its expiry; the grants stay valid. */
  readonly endAccess: () => void
  /** Consents as a person would. Returns the URL to which the browser is redirected. */
  readonly consent: (authorizationUrl: string, more?: { readonly [name: string]: string }) => URL
  readonly close: () => Promise<void>
}

const secret = () => `canary_${randomBytes(12).toString("hex")}`

export const startOAuthProvider = async (): Promise<OAuthProvider> => {
  const tokenRequests: Array<{ readonly [name: string]: string }> = []
  const tokenRequestedAt: Array<number> = []
  const revoked: Array<string> = []
  const calls: Array<Call> = []
  const codes = new Map<string, string>()
  /** The expiry of each access token, in Unix milliseconds. */
  const access = new Map<string, number>()
  /** The grant of each refresh token that is valid, and of each that was used up. */
  const refresh = new Map<string, string>()
  const spent = new Map<string, string>()
  const behaviour: OAuthProvider["behaviour"] = {
    latencyMillis: 0,
    held: undefined,
    rotates: true,
    expiresIn: 3_600,
    refuses: undefined,
    strict: true,
    apiStatus: 200
  }

  const granted = (before?: string) => {
    const token = secret()
    access.set(token, Date.now() + behaviour.expiresIn * 1_000)
    const next = before !== undefined && !behaviour.rotates ? before : secret()
    const grant = (before === undefined ? undefined : refresh.get(before)) ?? secret()
    if (before !== undefined && behaviour.rotates) {
      refresh.delete(before)
      spent.set(before, grant)
    }
    refresh.set(next, grant)
    return {
      access_token: token,
      token_type: "Bearer",
      expires_in: behaviour.expiresIn,
      refresh_token: next,
      scope: "read"
    }
  }

  const token = (form: { readonly [name: string]: string }): readonly [number, object] => {
    if (behaviour.refuses !== undefined) return [behaviour.refuses.status, behaviour.refuses.body]
    const invalid = [400, { error: "invalid_grant", error_description: "the grant is no more" }] as const
    if (form["grant_type"] === "client_credentials") return [200, granted()]
    if (form["grant_type"] === "authorization_code") {
      const challenge = codes.get(form["code"] ?? "")
      codes.delete(form["code"] ?? "")
      const verifier = createHash("sha256")
        .update(form["code_verifier"] ?? "")
        .digest("base64url")
      return challenge === verifier ? [200, granted()] : invalid
    }
    const given = form["refresh_token"] ?? ""
    if (refresh.has(given)) return [200, granted(given)]
    const reused = spent.get(given)
    for (const [valid, grant] of refresh) if (behaviour.strict && grant === reused) refresh.delete(valid)
    return invalid
  }

  const server = createTestServer((request, response) => {
    let body = ""
    request.setEncoding("utf8").on("data", (text: string) => {
      body += text
    })
    request.on("end", () => {
      const json = (status: number, value: object) => {
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value))
      }
      const target = request.url ?? ""
      if (target === "/token") {
        const form = Object.fromEntries(new URLSearchParams(body))
        tokenRequests.push(form)
        tokenRequestedAt.push(Date.now())
        const [status, value] = token(form)
        const answer = () => json(status, value)
        setTimeout(() => void (behaviour.held ?? Promise.resolve()).then(answer), behaviour.latencyMillis)
      } else if (target === "/revoke") {
        revoked.push(new URLSearchParams(body).get("token") ?? "")
        json(200, {})
      } else {
        const authorization = request.headers.authorization ?? ""
        const key = String(request.headers["x-api-key"] ?? "")
        calls.push({ target, authorization, key, idempotencyKey: String(request.headers["idempotency-key"] ?? "") })
        const known =
          (access.get(authorization.replace("Bearer ", "")) ?? 0) > Date.now() || key.startsWith("canary_key")
        const status = behaviour.apiStatus === 200 && !known ? 401 : behaviour.apiStatus
        json(status, status === 200 ? { email: "ada@example.com", target } : { message: "not you" })
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  return {
    url,
    tokenRequests,
    tokenRequestedAt,
    revoked,
    calls,
    behaviour,
    issue: () => {
      const { access_token, refresh_token } = granted()
      return { accessToken: access_token, refreshToken: refresh_token }
    },
    endAccess: () => access.clear(),
    consent: (authorizationUrl, more = {}) => {
      const asked = new URL(authorizationUrl).searchParams
      const code = secret()
      codes.set(code, asked.get("code_challenge") ?? "")
      const back = new URL(asked.get("redirect_uri") ?? "")
      for (const [name, value] of Object.entries({ code, state: asked.get("state") ?? "", ...more }))
        back.searchParams.set(name, value)
      return back
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}

const base = "{{connection.config.base}}"

const personId = { type: "object", properties: { id: { type: "string" } }, required: ["id"] }

/** A connector for the provider. `config.base` of a connection is the provider's URL, which has no TLS. */
export const acme = (more: object = {}) => ({
  svcConnector: 1,
  slug: "acme",
  name: "Acme",
  kind: "crm",
  version: "1.0.0",
  baseUrl: base,
  connectionConfig: { type: "object", properties: { base: { type: "string" } }, required: ["base"] },
  auth: [
    {
      id: "oauth",
      type: "oauth2",
      default: true,
      authorizationUrl: `${base}/authorize`,
      tokenUrl: `${base}/token`,
      revocationUrl: `${base}/revoke`,
      scopes: ["read"],
      clientId: "the-client",
      clientSecret: "canary_client_secret",
      clientAuth: "body"
    },
    {
      id: "key",
      type: "api_key",
      inject: [{ in: "header", name: "X-API-Key", value: "{{credential.apiKey}}" }]
    },
    {
      id: "machine",
      type: "oauth2",
      grant: "client_credentials",
      tokenUrl: `${base}/token`,
      clientId: "machine-client",
      clientSecret: "canary_machine_secret",
      clientAuth: "body"
    }
  ],
  test: { action: "me", accountLabel: "$.email" },
  actions: [{ name: "me", request: { method: "GET", path: "/me" } }],
  ...more
})

/** A webhook of the connector, which no event needs. */
export const acmeWebhook = {
  id: "hook",
  type: "per_event",
  subscribe: { action: "me", idFrom: "$.email" },
  verify: { scheme: "hmac", subscriptionSecret: true, header: "x-acme-signature" }
}

/** The same with contacts of the unified API and of the common data model, and a webhook. */
export const acmeWithContacts = (slug: string) => {
  const plain = acme({ slug })
  return {
    ...plain,
    actions: [
      ...plain.actions,
      { name: "people", request: { method: "GET", path: "/people" } },
      { name: "person", inputSchema: personId, request: { method: "GET", path: "/people/{{args.id}}" } },
      { name: "addPerson", request: { method: "POST", path: "/people", body: "{{args}}" } },
      { name: "changePerson", inputSchema: personId, request: { method: "PATCH", path: "/people/{{args.id}}" } },
      { name: "removePerson", inputSchema: personId, request: { method: "DELETE", path: "/people/{{args.id}}" } }
    ],
    webhooks: [
      {
        id: "hook",
        type: "per_event",
        subscribe: { action: "me", idFrom: "$.email" },
        verify: { scheme: "hmac", subscriptionSecret: true, header: "x-acme-signature" }
      }
    ],
    entities: [
      {
        name: "person",
        cdm: "CDMContact",
        unified: "crm/contact",
        read: "people",
        get: "person",
        create: "addPerson",
        update: "changePerson",
        delete: "removePerson",
        fields: [
          { from: "email", to: "id" },
          { from: "email", to: "email" }
        ],
        unifiedFields: [
          { from: "email", to: "id" },
          { from: "email", to: "emailAddresses[0].emailAddress" }
        ]
      }
    ]
  }
}
