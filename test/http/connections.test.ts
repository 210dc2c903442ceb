/** Connections over the API and in the browser: creation, use, refresh, isolation. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { makeCookieJar } from "../support/cookieJar.js"
import { type Answer, type Running, start } from "../support/InProcess.js"
import { acme, type OAuthProvider, startOAuthProvider } from "../support/oauthProvider.js"

let svc: Running
let provider: OAuthProvider

const at = "/api/v1/connections"

beforeAll(async () => {
  provider = await startOAuthProvider()
  svc = await start({ SVC_EGRESS_ALLOW: "127.0.0.1/32" })
  const made = await svc.ask("POST", "/api/v1/connectors", { key: svc.first.key, body: acme() })
  assert.strictEqual(made.status, 201, made.text)
  const published = await svc.ask("POST", "/api/v1/connectors/acme/publish", { key: svc.first.key, body: {} })
  assert.strictEqual(published.status, 200, published.text)
})
afterAll(async () => {
  await svc.stop()
  await provider.close()
})

const ask = (method: string, target: string, body?: unknown, headers: { readonly [name: string]: string } = {}) =>
  svc.ask(method, target, { key: svc.first.key, headers, ...(body === undefined ? {} : { body }) })

const publish = async (more: { readonly slug: string; readonly [member: string]: unknown }) => {
  const made = await ask("POST", "/api/v1/connectors", acme(more))
  assert.strictEqual(made.status, 201, made.text)
  assert.strictEqual((await ask("POST", `/api/v1/connectors/${more.slug}/publish`, {})).status, 200)
}

const create = (more: object = {}) =>
  ask("POST", at, { connector: "acme", customerId: svc.first.customerId, config: { base: provider.url }, ...more })

const withKey = async (more: object = {}): Promise<string> => {
  const made = await create({ authMethod: "key", credential: { apiKey: "canary_key_1" }, ...more })
  assert.strictEqual(made.status, 201, made.text)
  return made.body.data.id
}

/** A browser that opens a page of the service. */
const browser = makeCookieJar()
const visit = async (url: string, form?: { readonly [name: string]: string }): Promise<Answer> => {
  const { pathname, search } = new URL(url)
  const headers = { "content-type": "application/x-www-form-urlencoded", ...browser.sent() }
  const raw = form === undefined ? {} : { raw: new URLSearchParams(form).toString() }
  const answer = await svc.ask(form === undefined ? "GET" : "POST", `${pathname}${search}`, { ...raw, headers })
  browser.keep(answer.headers)
  return answer
}

describe("a connection whose credential is given", () => {
  it("is active at once, tested, with the account's label, and without the credential", async () => {
    const made = await create({
      authMethod: "key",
      credential: { apiKey: "canary_key_1" },
      label: "Main",
      tags: { team: "a" }
    })
    assert.strictEqual(made.status, 201, made.text)
    const { data } = made.body
    assert.deepInclude(data, { status: "active", accountLabel: "ada@example.com", label: "Main", scope: "customer" })
    assert.match(data.credentialFingerprint, /^[0-9a-f]{8}$/)
    assert.notInclude(made.text, "canary")
    assert.strictEqual(made.headers["location"], `${at}/${data.id}`)
    const read = await ask("GET", `${at}/${data.id}`)
    assert.deepStrictEqual(read.body.data, data)
  })

  it("that the provider refuses is not stored, and the reason does not contain it", async () => {
    const before = (await ask("GET", at)).body.data.length
    const refused = await create({ authMethod: "key", credential: { apiKey: "canary_wrong" } })
    assert.deepStrictEqual([refused.status, refused.body.code], [422, "CREDENTIAL_TEST_FAILED"])
    assert.include(refused.body.message, "401")
    assert.notInclude(refused.text, "canary_wrong")
    assert.strictEqual((await ask("GET", at)).body.data.length, before)
  })

  it("that lacks a field or has an unknown one is refused with its name", async () => {
    const lacking = await create({ authMethod: "key", credential: {} })
    assert.deepStrictEqual([lacking.status, lacking.body.details[0].path], [422, "credential.apiKey"])
    const unknown = await create({ authMethod: "key", credential: { apiKey: "canary_key_1", x: "1" } })
    assert.deepStrictEqual([unknown.status, unknown.body.details[0].code], [422, "UNKNOWN_FIELD"])
  })

  it("may be existing tokens, and is refreshed with them", async () => {
    const first = await create({ authMethod: "machine" })
    assert.strictEqual(first.status, 201, first.text)
    const token = (await ask("POST", `${at}/${first.body.data.id}/reveal`)).body.data.credential.accessToken
    const made = await create({ credential: { accessToken: token, refreshToken: "canary_r", expiresIn: 3600 } })
    assert.strictEqual(made.status, 201, made.text)
    assert.deepInclude(made.body.data, { status: "active", authMethod: "oauth" })
    assert.isAbove(Date.parse(made.body.data.expiresAt), Date.now() + 3_500_000)
  })

  it("needs no person if the organisation's own client is the credential", async () => {
    const made = await create({ authMethod: "machine" })
    assert.deepInclude(made.body.data, { status: "active", authMethod: "machine" })
    assert.deepInclude(provider.tokenRequests.at(-1), {
      grant_type: "client_credentials",
      client_id: "machine-client"
    })
  })

  it("is created once for one Idempotency-Key", async () => {
    const key = { "idempotency-key": "connect-1" }
    const body = {
      connector: "acme",
      customerId: svc.first.customerId,
      config: { base: provider.url },
      authMethod: "key",
      credential: { apiKey: "canary_key_1" }
    }
    const [first, second] = [await ask("POST", at, body, key), await ask("POST", at, body, key)]
    assert.strictEqual(first.status, 201, first.text)
    assert.strictEqual(second.body.data.id, first.body.data.id)
    assert.strictEqual(second.headers["idempotent-replayed"], "true")
  })
})

describe("a connection that a person makes", () => {
  const begin = async (more: object = {}) => {
    const made = await create({ redirectUrl: "https://app.example/done?a=1", ...more })
    assert.strictEqual(made.status, 201, made.text)
    assert.strictEqual(made.body.data.status, "pending")
    assert.match(made.body.data.connectSessionId, /^cs_/)
    return made.body.data as { id: string; connectUrl: string }
  }
  const statusOf = async (id: string) => (await ask("GET", `${at}/${id}`)).body.data?.status

  it("redirects to the provider with state and PKCE, and back to a page that posts to the opener's origin only", async () => {
    const { connectUrl, id } = await begin()
    const sent = await visit(connectUrl)
    assert.strictEqual(sent.status, 303, sent.text)
    const url = new URL(sent.headers["location"] ?? "")
    assert.strictEqual(url.searchParams.get("code_challenge_method"), "S256")
    assert.strictEqual(url.searchParams.get("scope"), "read")
    const back = await visit(provider.consent(url.href).href)
    assert.strictEqual(back.status, 200, back.text)
    assert.include(back.text, `"https://app.example"`)
    assert.include(back.text, "svc:connection-created")
    assert.notInclude(back.text, "canary")
    assert.include(back.headers["content-security-policy"] ?? "", "default-src 'none'")
    assert.strictEqual(await statusOf(id), "active")
    assert.strictEqual(provider.tokenRequests.at(-1)?.["client_secret"], "canary_client_secret")
  })

  it("cannot be completed twice with one link or one answer", async () => {
    const { connectUrl } = await begin()
    const url = (await visit(connectUrl)).headers["location"] ?? ""
    const back = provider.consent(url).href
    assert.strictEqual((await visit(back)).status, 200)
    const asked = provider.tokenRequests.length
    assert.strictEqual((await visit(back)).status, 410)
    assert.strictEqual(provider.tokenRequests.length, asked)
    assert.include((await visit(connectUrl)).text, "already")
  })

  it("with an unknown state is refused", async () => {
    const { connectUrl, id } = await begin()
    const url = new URL((await visit(connectUrl)).headers["location"] ?? "")
    const back = provider.consent(url.href, { state: "x".repeat(43) }).href
    assert.strictEqual((await visit(back)).status, 410)
    assert.strictEqual(await statusOf(id), "pending")
  })

  it("answered by another issuer than the expected one fails, and its code is not redeemed", async () => {
    const { connectUrl, id } = await begin()
    const url = (await visit(connectUrl)).headers["location"] ?? ""
    const asked = provider.tokenRequests.length
    const back = await visit(provider.consent(url, { iss: "https://evil.example" }).href)
    assert.strictEqual(back.status, 400)
    assert.strictEqual(provider.tokenRequests.length, asked)
    assert.strictEqual(await statusOf(id), "failed")
  })

  it("who refuses leaves it failed, with the provider's message, escaped", async () => {
    const { connectUrl, id } = await begin()
    const url = (await visit(connectUrl)).headers["location"] ?? ""
    const back = await visit(
      provider.consent(url, { error: "access_denied", error_description: "<script>alert(1)</script>" }).href
    )
    assert.strictEqual(back.status, 400)
    assert.notInclude(back.text, "<script>alert")
    const { data } = (await ask("GET", `${at}/${id}`)).body
    assert.strictEqual(data.status, "failed")
    assert.include(data.health.lastError, "access_denied")
  })

  it("by a form stays on it while the credential is wrong, and is active when it is right", async () => {
    const { connectUrl, id } = await begin({ authMethod: "key" })
    const form = await visit(connectUrl)
    assert.strictEqual(form.status, 200)
    assert.include(form.text, `type="password"`)
    const wrong = await visit(connectUrl, { "credential.apiKey": "canary_nope" })
    assert.strictEqual(wrong.status, 422)
    assert.notInclude(wrong.text, "canary_nope")
    const right = await visit(connectUrl, { "credential.apiKey": "canary_key_2" })
    assert.strictEqual(right.status, 200, right.text)
    assert.strictEqual(await statusOf(id), "active")
  })

  it("by a form keeps values that are not secret, and names the wrong field by its label", async () => {
    const connectionConfig = {
      type: "object",
      properties: {
        base: { type: "string" },
        shop: { type: "string", title: "Shop's name", pattern: "^[a-z]+$" },
        region: { enum: ["eu", "us"] },
        sandbox: { type: "boolean" }
      },
      required: ["base", "shop"]
    }
    await publish({ slug: "shops", connectionConfig })
    // Values that are sent must be valid; missing ones are fields of the form.
    const wrong = await create({ connector: "shops", authMethod: "key", config: { base: provider.url, region: "x" } })
    assert.deepStrictEqual([wrong.status, wrong.body.details[0].path], [422, "config.region"])
    const { connectUrl, id } = await begin({ connector: "shops", authMethod: "key" })
    const entered = { "config.shop": '"><b>', "config.region": "us", "config.sandbox": "on" }
    const again = await visit(connectUrl, { ...entered, "credential.apiKey": "canary_key_form" })
    assert.strictEqual(again.status, 422)
    assert.match(again.text, /role="alert" id="problem">\s*Shop&#39;s name: /)
    const field = (name: string) => new RegExp(`<[^>]*name="${name}"[^>]*>`).exec(again.text)?.[0] ?? ""
    assert.match(field("config.shop"), /value="&quot;&gt;&lt;b&gt;"[^>]*aria-describedby="problem" aria-invalid="true"/)
    assert.notInclude(field("config.region"), "aria-invalid")
    assert.match(again.text, /<option\s+selected>us<\/option>/)
    assert.include(field("config.sandbox"), "checked")
    assert.notInclude(again.text, "canary")
    const right = { ...entered, "config.shop": "acme", "credential.apiKey": "canary_key_form" }
    const done = await visit(connectUrl, right)
    assert.strictEqual(done.status, 200, done.text)
    const { data } = (await ask("GET", `${at}/${id}`)).body
    assert.deepInclude(data.config, { shop: "acme", region: "us", sandbox: true })
  })

  it("is redirected to web addresses only, whatever was entered; the service itself never calls them", async () => {
    const [oauth] = acme().auth
    await publish({
      slug: "anywhere",
      connectionConfig: { type: "object" },
      auth: [{ ...oauth, authorizationUrl: "{{connection.config.login}}" }]
    })
    for (const login of ["javascript:alert(1)//x", "data:text/html,x", "file:///etc/passwd"]) {
      const { connectUrl } = await begin({ connector: "anywhere", config: { base: provider.url, login } })
      const answer = await visit(connectUrl)
      assert.deepStrictEqual([answer.status, answer.headers["location"]], [422, undefined])
    }
    // The browser may reach networks that the service must not call.
    const asked = provider.calls.length
    for (const login of ["http://192.168.7.7/login", provider.url]) {
      const { connectUrl } = await begin({ connector: "anywhere", config: { base: provider.url, login } })
      const answer = await visit(connectUrl)
      assert.strictEqual(answer.status, 303, answer.text)
      assert.isTrue(answer.headers["location"]?.startsWith(login))
    }
    assert.strictEqual(provider.calls.length, asked)
  })

  it("by an invented link finds nothing", async () => {
    assert.strictEqual((await visit(`http://svc.test/connect/${"a".repeat(43)}`)).status, 410)
    assert.strictEqual((await visit("http://svc.test/oauth/callback?code=1&state=2")).status, 410)
  })

  it("expires if it is not completed", async () => {
    const { connectUrl } = await begin()
    const late = await svc.ask("GET", new URL(connectUrl).pathname, { later: "16 minutes" })
    assert.strictEqual(late.status, 410)
  })
})

describe("orders", () => {
  it("reconnect keeps the id, and the old credential until the new one is stored", async () => {
    const id = await withKey()
    const again = await ask("POST", `${at}/${id}/reconnect`, {})
    assert.strictEqual(again.status, 200, again.text)
    assert.deepInclude(again.body.data, { id, status: "active" })
    const done = await visit(again.body.data.connectUrl, { "credential.apiKey": "canary_key_new" })
    assert.strictEqual(done.status, 200, done.text)
    const shown = await ask("POST", `${at}/${id}/reveal`)
    assert.strictEqual(shown.body.data.credential.apiKey, "canary_key_new")
    assert.strictEqual(shown.headers["cache-control"], "no-store")
  })

  it("disable stops it, enable tests it first", async () => {
    const id = await withKey()
    assert.strictEqual((await ask("POST", `${at}/${id}/disable`)).body.data.status, "inactive")
    provider.behaviour.apiStatus = 401
    const refused = await ask("POST", `${at}/${id}/enable`)
    provider.behaviour.apiStatus = 200
    assert.strictEqual(refused.body.code, "CREDENTIAL_TEST_FAILED")
    assert.strictEqual((await ask("POST", `${at}/${id}/enable`)).body.data.status, "active")
    assert.strictEqual((await ask("POST", `${at}/${id}/enable`)).body.code, "INVALID_STATE")
  })

  it("test reports the provider's answer; two refusals in a row fail the connection", async () => {
    const id = await withKey()
    assert.strictEqual((await ask("POST", `${at}/${id}/test`)).body.data.ok, true)
    provider.behaviour.apiStatus = 401
    const [once, twice] = [await ask("POST", `${at}/${id}/test`), await ask("POST", `${at}/${id}/test`)]
    provider.behaviour.apiStatus = 200
    assert.deepStrictEqual([once.body.data.ok, once.body.data.connection.status], [false, "active"])
    assert.strictEqual(twice.body.data.connection.status, "failed")
  })

  it("refresh gets a new token at once, and is refused if there is none to refresh", async () => {
    const made = await create({ authMethod: "machine" })
    const asked = provider.tokenRequests.length
    const refreshed = await ask("POST", `${at}/${made.body.data.id}/refresh`)
    assert.strictEqual(refreshed.status, 200, refreshed.text)
    assert.strictEqual(provider.tokenRequests.length, asked + 1)
    assert.notStrictEqual(refreshed.body.data.credentialFingerprint, made.body.data.credentialFingerprint)
    assert.strictEqual((await ask("POST", `${at}/${await withKey()}/refresh`)).status, 422)
  })

  it("delete wipes the credential at once, revokes it at the provider, and is answered once", async () => {
    const { connectUrl, id } = (await create()).body.data
    await visit(provider.consent((await visit(connectUrl)).headers["location"] ?? "").href)
    const { refreshToken } = (await ask("POST", `${at}/${id}/reveal`)).body.data.credential
    const gone = await ask("DELETE", `${at}/${id}`)
    assert.deepStrictEqual([gone.status, gone.body.data.status], [200, "disconnected"])
    assert.strictEqual((await ask("POST", `${at}/${id}/reveal`)).status, 404)
    assert.strictEqual((await ask("DELETE", `${at}/${id}`)).status, 404)
    assert.strictEqual((await ask("GET", `${at}/${id}`)).status, 404)
    for (let i = 0; i < 200 && !provider.revoked.includes(refreshToken); i++)
      await new Promise((resolve) => setTimeout(resolve, 10))
    assert.include(provider.revoked, refreshToken)
  })

  it("update changes label, tags and the default, at the version that the client read", async () => {
    const user = { userId: "u-default" }
    const [first, second] = [await withKey(user), await withKey(user)]
    const read = await ask("GET", `${at}/${second}`)
    assert.isFalse(read.body.data.isDefault)
    const changed = await ask(
      "PUT",
      `${at}/${second}`,
      { label: "Second", isDefault: true, tags: { a: "b" } },
      { "if-match": read.headers["etag"] ?? "" }
    )
    assert.strictEqual(changed.status, 200, changed.text)
    assert.deepInclude(changed.body.data, { label: "Second", isDefault: true, tags: { a: "b" } })
    assert.isFalse((await ask("GET", `${at}/${first}`)).body.data.isDefault)
    const stale = await ask("PUT", `${at}/${second}`, { label: "x" }, { "if-match": read.headers["etag"] ?? "" })
    assert.strictEqual(stale.body.code, "VERSION_MISMATCH")
  })

  it("are in the audit trail, without a credential", async () => {
    const id = await withKey()
    await ask("POST", `${at}/${id}/reveal`)
    await ask("DELETE", `${at}/${id}`)
    const { body, text } = await ask("GET", `/api/v1/audit?resource_id=${id}`)
    const actions = body.data.map((entry: { readonly action: string }) => entry.action)
    assert.includeMembers(actions, ["connection.create", "connection.decrypt", "connection.delete"])
    assert.notInclude(text, "canary")
  })
})

describe("another's connection", () => {
  it("cannot be named, listed, used or distinguished from an unknown one", async () => {
    const id = await withKey()
    const other = await svc.organisation("Other")
    const customer = await ask("POST", "/api/v1/customers", { name: "Second" })
    const narrow = await ask("POST", "/api/v1/api-keys", {
      name: "narrow",
      mode: "live",
      preset: "full_access",
      customers: { mode: "subset", ids: [customer.body.data.id] }
    })
    assert.strictEqual(narrow.status, 201, narrow.text)
    for (const key of [other.key, narrow.body.data.key]) {
      assert.lengthOf((await svc.ask("GET", at, { key })).body.data, 0)
      for (const [method, path] of [
        ["GET", ""],
        ["PUT", ""],
        ["DELETE", ""],
        ...["test", "refresh", "reconnect", "enable", "disable", "reveal"].map((verb) => ["POST", `/${verb}`])
      ] as const) {
        const to = async (which: string) => {
          const { body, status } = await svc.ask(method, `${at}/${which}${path}`, {
            key,
            ...(method === "GET" || method === "DELETE" ? {} : { body: {} })
          })
          return { status, ...body, requestId: "" }
        }
        assert.deepStrictEqual(await to(id), await to("conn_00000000000000000000000000"), `${method} ${path}`)
      }
      const made = await svc.ask("POST", at, {
        key,
        body: { connector: "acme", customerId: svc.first.customerId, authMethod: "key", credential: { apiKey: "k" } }
      })
      const nobody = await svc.ask("POST", at, {
        key,
        body: { connector: "acme", customerId: "cus_00000000000000000000000000", credential: { apiKey: "k" } }
      })
      assert.deepStrictEqual([made.status, made.body.details], [nobody.status, nobody.body.details])
    }
  })
})
