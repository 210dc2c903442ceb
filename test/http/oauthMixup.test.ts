/**
 * A code that one connector asked for is redeemed for that connector only: not at the callback of another, not by
 * another's definition, not after the definition was changed.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import { Client } from "pg"
import { makeCookieJar } from "../support/cookieJar.js"
import { TestDatabase } from "../support/Database.js"
import { type Answer, type Ask, type Running, start } from "../support/InProcess.js"
import { acme, type OAuthProvider, startOAuthProvider } from "../support/oauthProvider.js"

let svc: Running
let honest: OAuthProvider
/** The attacker's own server. */
let hostile: OAuthProvider
let attacker: Awaited<ReturnType<Running["organisation"]>>

const text = { type: "string" }
const connector = (more: object = {}) => {
  const connectionConfig = { type: "object", properties: { base: text, evil: text } }
  return { ...acme({ connectionConfig }), ...more }
}
const [oauth] = acme().auth

beforeAll(async () => {
  honest = await startOAuthProvider()
  hostile = await startOAuthProvider()
  svc = await start({ SVC_EGRESS_ALLOW: "127.0.0.1/32" })
  attacker = await svc.organisation("Attacker")
  await publish(svc.first.key, connector())
  await publish(svc.first.key, connector({ slug: "second" }))
  await publish(
    attacker.key,
    connector({ slug: "acme", auth: [{ ...oauth, tokenUrl: "{{connection.config.evil}}/token", pkce: false }] })
  )
})
afterAll(async () => {
  await svc.stop()
  await honest.close()
  await hostile.close()
})

const publish = async (key: string, definition: { readonly slug: string }) => {
  const made = await svc.ask("POST", "/api/v1/connectors", { key, body: definition })
  assert.strictEqual(made.status, 201, made.text)
  await republish(key, definition.slug)
}
const republish = async (key: string, slug: string) => {
  const done = await svc.ask("POST", `/api/v1/connectors/${slug}/publish`, { key, body: {} })
  assert.strictEqual(done.status, 200, done.text)
}
const revise = async (slug: string, version: string, method: object) => {
  const definition = connector({ slug, version, auth: [{ ...oauth, ...method }] })
  const done = await svc.ask("PUT", `/api/v1/connectors/${slug}`, { key: svc.first.key, body: definition })
  assert.strictEqual(done.status, 200, done.text)
  await republish(svc.first.key, slug)
}

/** When a published version is used on every node. */
const published = { later: "1 second" } as const

const browser = makeCookieJar()

interface Begun {
  readonly id: string
  /** The URL to which the person is redirected. */
  readonly leads: URL
}

const opened = async (made: Answer, when: Ask = {}): Promise<Begun> => {
  const { connectUrl, id } = made.body.data
  const away = await svc.ask("GET", new URL(connectUrl).pathname, { headers: browser.sent(), ...when })
  browser.keep(away.headers)
  assert.strictEqual(away.status, 303, away.text)
  return { id, leads: new URL(away.headers["location"] ?? "") }
}

const begin = async (who: { readonly key: string; readonly customerId: string }, connector = "acme") => {
  const config = { base: honest.url, evil: hostile.url }
  const body = { connector, customerId: who.customerId, config, authMethod: "oauth" }
  const made = await svc.ask("POST", "/api/v1/connections", { key: who.key, body })
  assert.strictEqual(made.status, 201, made.text)
  return opened(made)
}

const callbackOf = ({ leads }: Begun) => new URL(leads.searchParams.get("redirect_uri") ?? "").pathname
const visit = (back: URL, path = back.pathname, when: Ask = {}) =>
  svc.ask("GET", `${path}${back.search}`, { headers: browser.sent(), ...when })

describe("a redirect URI", () => {
  it("is one for each organisation and connector, and shown where the client is configured", async () => {
    const [mine, again, other, theirs] = [
      await begin(svc.first),
      await begin(svc.first),
      await begin(svc.first, "second"),
      await begin(attacker)
    ]
    assert.strictEqual(callbackOf(mine), callbackOf(again))
    assert.strictEqual(new Set([mine, other, theirs].map(callbackOf)).size, 3)
    for (const one of [mine, other, theirs]) assert.match(callbackOf(one), /^\/oauth\/callback\/[A-Za-z0-9]{32}$/)
    const connector = await svc.ask("GET", "/api/v1/connectors/acme", { key: svc.first.key })
    assert.strictEqual(connector.body.data.redirectUri, mine.leads.searchParams.get("redirect_uri"))
    const providers = await svc.ask("GET", "/api/v1/connectors/acme/auth-providers", { key: svc.first.key })
    assert.strictEqual(providers.body.data[0].redirectUri, mine.leads.searchParams.get("redirect_uri"))
  })

  it("connects its own connector", async () => {
    const mine = await begin(svc.first)
    const done = await visit(honest.consent(mine.leads.href))
    assert.strictEqual(done.status, 200, done.text)
    assert.include(done.text, "svc:connection-created")
  })

  it("accepts no code with the state of another session", async () => {
    const victim = await begin(svc.first)
    const trap = await begin(attacker)
    const back = honest.consent(victim.leads.href)
    back.searchParams.set("state", trap.leads.searchParams.get("state") ?? "")
    for (const path of [callbackOf(victim), "/oauth/callback", `/oauth/callback/${"a".repeat(32)}`])
      assert.strictEqual((await visit(back, path)).status, 410)
    assert.lengthOf(hostile.tokenRequests, 0)
    // The attacker does not affect the victim's own session.
    const own = honest.consent(victim.leads.href)
    assert.strictEqual((await visit(own)).status, 200)
  })
})

describe("a code whose connector was changed meanwhile", () => {
  it.each([
    ["1.1.0", { tokenUrl: "{{connection.config.evil}}/token" }],
    ["1.2.0", { tokenUrl: "{{connection.config.base}}/token", pkce: false }],
    ["1.3.0", { clientId: "another-client", pkce: true }]
  ])("goes nowhere: %s", async (version, method) => {
    const slug = `changed${version.replaceAll(".", "")}`
    await publish(svc.first.key, connector({ slug }))
    const begun = await begin(svc.first, slug)
    await revise(slug, version, method)
    const asked = honest.tokenRequests.length
    const done = await visit(honest.consent(begun.leads.href), undefined, published)
    assert.strictEqual(done.status, 400, done.text)
    assert.include(done.text, "changed meanwhile")
    assert.lengthOf(hostile.tokenRequests, 0)
    assert.strictEqual(honest.tokenRequests.length, asked)
  })
})

describe("a connection from before connectors had their own callback", () => {
  const grow = async (id: string) => {
    const { admin } = await svc.run(TestDatabase)
    const client = new Client({ connectionString: Redacted.value(admin) })
    await client.connect()
    await client.query("UPDATE connections SET common_callback = true WHERE id = $1", [id])
    await client.end()
  }
  const reconnect = async (id: string, when: Ask = {}) => {
    const request = { key: svc.first.key, body: {}, ...when }
    const made = await svc.ask("POST", `/api/v1/connections/${id}/reconnect`, request)
    assert.strictEqual(made.status, 200, made.text)
    return opened(made, when)
  }

  it("keeps the common one, marked as deprecated, until its connector is changed", async () => {
    await publish(svc.first.key, connector({ slug: "grown" }))
    const made = await begin(svc.first, "grown")
    assert.strictEqual((await visit(honest.consent(made.leads.href))).status, 200)
    await grow(made.id)
    const again = await reconnect(made.id)
    assert.strictEqual(callbackOf(again), "/oauth/callback")
    const done = await visit(honest.consent(again.leads.href))
    assert.strictEqual(done.status, 200, done.text)
    assert.strictEqual(done.headers["deprecation"], "true")
    await revise("grown", "2.0.0", { tokenUrl: "{{connection.config.evil}}/token" })
    assert.match(callbackOf(await reconnect(made.id, published)), /^\/oauth\/callback\/\w{32}$/)
  })
})
