/** The auth method and the OAuth client that a connection uses. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { makeCookieJar } from "../support/cookieJar.js"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"
import { acme, type OAuthProvider, startOAuthProvider } from "../support/oauthProvider.js"

let svc: Running
let provider: OAuthProvider

const ask = (method: string, path: string, body: object) =>
  svc.ask(method, `/api/v1${path}`, { key: svc.first.key, body })

const machine = (fields: ReadonlyArray<object>) => ({
  id: "machine",
  type: "oauth2",
  grant: "client_credentials",
  tokenUrl: "{{connection.config.base}}/token",
  clientAuth: "body",
  fields
})

beforeAll(async () => {
  provider = await startOAuthProvider()
  svc = await startShared()
  const entered = [{ name: "clientId" }, { name: "clientSecret", secret: true }]
  for (const definition of [
    acme(),
    acme({ slug: "theirs", auth: [machine(entered)] }),
    acme({ slug: "ours", auth: [machine([])] })
  ]) {
    assert.strictEqual((await ask("POST", "/connectors", definition)).status, 201)
    assert.strictEqual((await ask("POST", `/connectors/${definition.slug}/publish`, {})).status, 200)
  }
})
afterAll(async () => {
  await svc.stop()
  await provider.close()
})

const open = (connector: string) =>
  ask("POST", "/connections", { connector, customerId: svc.first.customerId, config: { base: provider.url } })

describe("reconnect with a credential", () => {
  it("of another method uses that method from then on; without a name the credential is of the method before", async () => {
    const { id } = (await open("acme")).body.data
    const credential = { apiKey: "canary_key_1" }
    assert.strictEqual((await ask("POST", `/connections/${id}/reconnect`, { credential })).status, 422)
    const made = await ask("POST", `/connections/${id}/reconnect`, { authMethod: "key", credential })
    assert.strictEqual(made.status, 200, made.text)
    assert.deepInclude(made.body.data, { id, status: "active", authMethod: "key" })
  })
})

describe("client credentials without a client of the organisation", () => {
  it("are entered at the link if the method needs a client", async () => {
    const made = await open("theirs")
    assert.strictEqual(made.status, 201, made.text)
    const { connectUrl, id } = made.body.data
    const done = await svc.ask("POST", new URL(connectUrl).pathname, {
      raw: new URLSearchParams({ "credential.clientId": "their-client", "credential.clientSecret": "s" }).toString(),
      headers: { "content-type": "application/x-www-form-urlencoded" }
    })
    assert.strictEqual(done.status, 200, done.text)
    assert.deepInclude(provider.tokenRequests.at(-1), { client_id: "their-client", client_secret: "s" })
    const shown = await svc.ask("GET", `/api/v1/connections/${id}`, { key: svc.first.key })
    assert.strictEqual(shown.body.data.status, "active")
  })

  it("are refused at once if the form would not ask for them", async () => {
    const made = await open("ours")
    assert.deepStrictEqual([made.status, made.body.details[0].code], [422, "NO_OAUTH_CLIENT"])
  })
})

describe("a grant", () => {
  /** A browser that opens a page of the service. */
  const browser = makeCookieJar()
  const visit = async (url: string) => {
    const { pathname, search } = new URL(url)
    const answer = await svc.ask("GET", `${pathname}${search}`, { headers: browser.sent() })
    browser.keep(answer.headers)
    return answer
  }
  /** The redirect of a new connection's link. */
  const begun = async () => {
    const { connectUrl, id } = (await open("acme")).body.data
    return { id, url: (await visit(connectUrl)).headers["location"] ?? "" }
  }

  it("is refreshed by the client that it was issued to, even if another one has become the default", async () => {
    const { id, url } = await begun()
    const first = new URL(url).searchParams.get("client_id") ?? ""
    assert.strictEqual((await visit(provider.consent(url).href)).status, 200)
    const other = { methodId: "oauth", name: "other", clientId: "other-client", clientSecret: "other", isDefault: true }
    assert.strictEqual((await ask("PUT", "/connectors/acme/auth-providers", other)).status, 200)
    assert.strictEqual(
      new URL((await begun()).url).searchParams.get("client_id"),
      "other-client",
      "new ones take the new"
    )
    const renewed = await ask("POST", `/connections/${id}/refresh`, {})
    assert.strictEqual(renewed.status, 200, renewed.text)
    assert.deepInclude(provider.tokenRequests.at(-1), { grant_type: "refresh_token", client_id: first })
  })
})
