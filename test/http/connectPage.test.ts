/** The connect page has the fields that the method needs, plain error messages, and completes a sign-in in one browser only. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { findViolations } from "../support/accessibility.js"
import { makeCookieJar } from "../support/cookieJar.js"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"
import { acme, type OAuthProvider, startOAuthProvider } from "../support/oauthProvider.js"

let svc: Running
let provider: OAuthProvider

beforeAll(async () => {
  provider = await startOAuthProvider()
  svc = await startShared()
  assert.strictEqual((await ask("POST", "/connectors", acme())).status, 201)
  assert.strictEqual((await ask("POST", "/connectors/acme/publish", {})).status, 200)
})
afterAll(async () => {
  await svc.stop()
  await provider.close()
})

const ask = (method: string, target: string, body?: unknown) =>
  svc.ask(method, `/api/v1${target}`, { key: svc.first.key, ...(body === undefined ? {} : { body }) })

const open = async (body: object) => {
  const made = await ask("POST", "/connections", { customerId: svc.first.customerId, ...body })
  assert.strictEqual(made.status, 201, made.text)
  return { id: String(made.body.data.id), path: new URL(made.body.data.connectUrl).pathname }
}

const newBrowser = () => {
  const jar = makeCookieJar()
  return async (target: string, form?: { readonly [name: string]: string }) => {
    const type = { "content-type": "application/x-www-form-urlencoded" }
    const answer = await (form === undefined
      ? svc.ask("GET", target, { headers: jar.sent() })
      : svc.ask("POST", target, { raw: new URLSearchParams(form).toString(), headers: { ...type, ...jar.sent() } }))
    jar.keep(answer.headers)
    return answer
  }
}

const targetOf = ({ pathname, search }: URL) => `${pathname}${search}`

describe("a sign-in", () => {
  it("is completed by the browser that opened the link, and refused to another without ending it", async () => {
    const [own, other] = [newBrowser(), newBrowser()]
    const { id, path } = await open({ connector: "acme", authMethod: "oauth", config: { base: provider.url } })
    const away = await own(path)
    assert.strictEqual(away.status, 303)
    assert.match(
      away.headers["set-cookie"] ?? "",
      /^svc_connect_\w{16}=\w+; Path=\/oauth\/callback; Max-Age=900; HttpOnly; SameSite=Lax$/
    )
    const back = targetOf(provider.consent(away.headers["location"] ?? ""))
    const asked = provider.tokenRequests.length
    const refused = await other(back)
    assert.strictEqual(refused.status, 403)
    assert.include(refused.text, "another browser")
    assert.include(refused.text, "open the link")
    assert.strictEqual(provider.tokenRequests.length, asked)
    // The other browser's own sign-in does not let it complete this one.
    const second = await open({ connector: "acme", authMethod: "oauth", config: { base: provider.url } })
    await other(second.path)
    assert.strictEqual((await other(back)).status, 403)
    const done = await own(back)
    assert.strictEqual(done.status, 200, done.text)
    assert.match(done.headers["set-cookie"] ?? "", /Max-Age=0/)
    assert.strictEqual((await ask("GET", `/connections/${id}`)).body.data.status, "active")
  })
})

describe("the form", () => {
  const policyOf = (headers: { readonly [name: string]: string | undefined }) =>
    /form-action ([^;]*)/.exec(headers["content-security-policy"] ?? "")?.[1]?.split(" ") ?? []

  it("can redirect to a provider and a redirectUrl on this machine", async () => {
    const redirectUrl = "http://127.0.0.1:4555/done"
    const known = await open({ connector: "acme", authMethod: "key", config: { base: provider.url }, redirectUrl })
    assert.includeMembers(policyOf((await newBrowser()(known.path)).headers), ["'self'", "http://127.0.0.1:4555"])
    // The provider's address depends on entered values.
    const asks = await open({ connector: "acme", authMethod: "oauth", redirectUrl })
    const browser = newBrowser()
    const page = await browser(asks.path)
    assert.includeMembers(policyOf(page.headers), ["https:", "http://127.0.0.1:*", "http://127.0.0.1:4555"])
    const away = await browser(asks.path, { "config.base": provider.url })
    assert.strictEqual(away.status, 303)
    assert.isTrue(away.headers["location"]?.startsWith(provider.url))
  })

  it("shows a link if its policy forbids the redirect to the provider", async () => {
    const browser = newBrowser()
    const { path } = await open({ connector: "acme", authMethod: "oauth" })
    await browser(path)
    const page = await browser(path, { "config.base": "http://192.168.7.7" })
    assert.strictEqual(page.status, 200)
    assert.match(page.text, /<a href="http:\/\/192\.168\.7\.7\/authorize\?[^"]*">Continue to Acme<\/a>/)
  })

  it("of the HTTP connector asks for what the method needs", async () => {
    const labels = async (authMethod: string) => {
      const { path } = await open({ connector: "http", authMethod })
      return [...(await newBrowser()(path)).text.matchAll(/<label for="([^"]+)"/g)].map(([, name]) => name)
    }
    assert.deepStrictEqual(await labels("bearer"), ["config.baseUrl", "credential.token"])
    assert.deepStrictEqual(await labels("header_key"), ["config.baseUrl", "config.keyName", "credential.apiKey"])
  })

  it("and its errors violate no rule of axe", async () => {
    const browser = newBrowser()
    const { path } = await open({ connector: "http", authMethod: "bearer" })
    const form = await browser(path)
    const refused = await browser(path, { "config.baseUrl": "ftp://x", "credential.token": "t" })
    const gone = await browser("/connect/cst_unknown")
    for (const { text } of [form, refused, gone]) assert.deepStrictEqual(await findViolations(text), [])
  })

  it("says in a customer's words what is wrong, and puts the focus there", async () => {
    const browser = newBrowser()
    const { path } = await open({ connector: "http", authMethod: "bearer" })
    const wrong = await browser(path, { "config.baseUrl": "ftp://x", "credential.token": "t" })
    assert.match(wrong.text, /id="problem">\s*Base URL: this must begin with https:\/\/ or http:\/\/\.</)
    assert.match(wrong.text, /name="config\.baseUrl"[^>]*autofocus/)
    const lacking = await browser(path, { "config.baseUrl": "https://x.example" })
    assert.match(lacking.text, /id="problem">\s*Token: please fill this in\.</)
    for (const { text } of [wrong, lacking]) assert.notMatch(text, /pattern|String does not/)
    const key = await open({ connector: "acme", authMethod: "key", config: { base: provider.url } })
    const refused = await browser(key.path, { "credential.apiKey": "nope" })
    assert.strictEqual(refused.status, 422)
    assert.include(refused.text, "Acme did not accept this.")
    assert.match(refused.text, /name="credential\.apiKey"[^>]*aria-invalid="true" autofocus/)
  })
})
