/** A connector's draft is changed by its parts: no change is lost, and published versions stay as they are. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Option, Redacted } from "effect"
import { Connectors } from "../../src/actors/ports/connection/Connectors.js"
import { acme, oauth } from "../support/connectors.js"
import { action, connectorEditor, pathsOf } from "../support/ConnectorEditor.js"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"

let svc: Running
let key: string
beforeAll(async () => {
  svc = await startShared()
  key = (await svc.organisation("Parts", "enterprise")).key
})
afterAll(() => svc.stop())

const { ask, done, create, published, read, listed } = connectorEditor(() => ({ svc, key }))

describe("a merge patch of a connector", () => {
  it("changes its members of the draft alone, and raises the version of a published one", async () => {
    const slug = await published({ domain: "acme.example", rateLimit: { requests: 5, perSeconds: 2 } })
    const patch = { description: "New", domain: null, rateLimit: { requests: 10 } }
    const changed = await done("PATCH", `/${slug}`, patch)
    assert.deepInclude(changed.body.data, {
      description: "New",
      domain: null,
      version: "1.0.1",
      latestVersion: "1.0.0"
    })
    assert.deepInclude(changed.body.data.rateLimit, { requests: 10, perSeconds: 2 })
    assert.strictEqual(changed.headers["etag"], '"3"')
    assert.strictEqual((await read(`/${slug}?version=1.0.0`)).rateLimit.requests, 5)
    const removed = await done("PATCH", `/${slug}`, { actions: [] })
    assert.strictEqual(removed.body.data.version, "2.0.0")
  })

  it("may name the version, which is refused if it is not above the published one", async () => {
    const slug = await published()
    assert.deepStrictEqual(pathsOf(await ask("PATCH", `/${slug}`, { version: "0.9.0", name: "Other" })), ["version"])
    const named = await done("PATCH", `/${slug}`, { version: "1.5.0" })
    assert.strictEqual(named.body.data.version, "1.5.0")
    // Later changes keep it.
    assert.strictEqual((await done("PATCH", `/${slug}`, { name: "Other" })).body.data.version, "1.5.0")
  })

  it("that changes nothing makes no draft", async () => {
    const slug = await published()
    const same = await done("PATCH", `/${slug}`, { name: `Acme ${slug}` })
    assert.deepInclude(same.body.data, { version: "1.0.0" })
    assert.strictEqual(same.headers["etag"], (await done("GET", `/${slug}`)).headers["etag"])
  })

  it.each([
    [{ slug: "other" }, "slug"],
    [{ baseUrl: null }, "baseUrl"],
    [{ color: 1 }, "color"],
    [{ import: { format: "svc", source: {} } }, "import"],
    [{ actions: [{ name: "a b", request: { method: "GET", path: "/" } }] }, "actions[0].name"],
    [JSON.parse('{"__proto__": {"polluted": true}}'), "__proto__"]
  ])("%j is refused at %s", async (patch, path) => {
    const slug = await create()
    const refused = await ask("PATCH", `/${slug}`, patch)
    assert.strictEqual(refused.status, 422, refused.text)
    assert.include(pathsOf(refused), path)
    assert.isUndefined(Reflect.get({}, "polluted"))
  })
})

describe("a publication that names a version", () => {
  it("publishes the draft as it, if it is above the published one", async () => {
    const slug = await published()
    await done("POST", `/${slug}/actions`, action("more"))
    assert.deepStrictEqual(pathsOf(await ask("POST", `/${slug}/publish`, { version: "1.0.0" })), ["version"])
    assert.strictEqual((await ask("POST", `/${slug}/publish`, { version: "1.0" })).status, 422)
    assert.strictEqual((await read(`/${slug}`)).latestVersion, "1.0.0")
    const { data } = (await done("POST", `/${slug}/publish`, { version: "3.0.0" })).body
    assert.deepInclude(data, { version: "3.0.0", latestVersion: "3.0.0" })
    assert.strictEqual((await read(`/${slug}?version=3.0.0`)).actions.length, 2)
  })

  it("is refused without a draft, unless it names the published version", async () => {
    const slug = await published()
    const refused = await ask("POST", `/${slug}/publish`, { version: "2.0.0" })
    assert.deepStrictEqual([refused.status, refused.body.code], [409, "INVALID_STATE"])
    assert.include(refused.body.message, "there is no draft to publish")
    await done("POST", `/${slug}/publish`, { version: "1.0.0" })
  })
})

describe("an auth method", () => {
  const clientOf = async (slug: string, organisationId: string) => {
    const found = await svc.run(
      Effect.flatMap(Connectors, (connectors) =>
        connectors.clientOf(organisationId as typeof svc.first.organisationId, slug, "oauth", null)
      )
    )
    return Option.getOrNull(
      Option.map(found, ({ clientId, clientSecret }) => [clientId, clientSecret && Redacted.value(clientSecret)])
    )
  }

  it("is added, changed and removed; the last one stays", async () => {
    const slug = await create()
    const made = await done("POST", `/${slug}/auth-methods`, { id: "user", type: "basic" })
    assert.deepStrictEqual(
      [made.status, made.headers["location"]],
      [201, `/api/v1/connectors/${slug}/auth-methods/user`]
    )
    assert.strictEqual((await ask("POST", `/${slug}/auth-methods`, { id: "user", type: "basic" })).status, 409)
    const titled = await done("PATCH", `/${slug}/auth-methods/user`, { title: "Password" })
    assert.deepInclude(titled.body.data, { id: "user", title: "Password", default: false })
    assert.deepStrictEqual(await listed(`/${slug}/auth-methods`, "id"), ["key", "user"])
    const missing = await ask("PATCH", `/${slug}/auth-methods/usr`, {})
    assert.include(missing.body.message, "Did you mean user?")
    await done("DELETE", `/${slug}/auth-methods/key`)
    assert.deepStrictEqual(pathsOf(await ask("DELETE", `/${slug}/auth-methods/user`)), ["auth"])
  })

  it("is made the only default", async () => {
    const slug = await create({
      auth: [
        { id: "key", type: "api_key", default: true },
        { id: "user", type: "basic" }
      ]
    })
    assert.deepInclude((await done("POST", `/${slug}/auth-methods/user/default`)).body.data, {
      id: "user",
      default: true
    })
    const all = (await read(`/${slug}/auth-methods`)) as ReadonlyArray<{ readonly default: boolean }>
    assert.deepStrictEqual(
      all.map((one) => one.default),
      [false, true]
    )
    assert.strictEqual((await ask("POST", `/${slug}/auth-methods/nope/default`)).status, 404)
  })

  it("never shows its client's secret, which is stored; later changes of other parts keep the client", async () => {
    const own = await svc.organisation("Clients")
    const mine = (method: string, path: string, body?: unknown) => ask(method, path, body, { key: own.key })
    const canary = "canary-part-secret-1"
    const texts: Array<string> = []
    const kept = async (method: string, path: string, body?: unknown) => {
      const { status, text } = await mine(method, path, body)
      assert.isBelow(status, 300, text)
      texts.push(text)
    }
    await kept("POST", "", acme("clients"))
    await kept("POST", "/clients/auth-methods", oauth({ clientId: "one", clientSecret: canary }))
    assert.deepStrictEqual(await clientOf("clients", own.organisationId), ["one", canary])
    await kept("PATCH", "/clients/auth-methods/oauth", { clientSecret: `${canary}-2` })
    assert.deepStrictEqual(await clientOf("clients", own.organisationId), ["one", `${canary}-2`])
    // The organisation replaces the client; a change of an action does not bring the first one back.
    const client = { name: "default", methodId: "oauth", clientId: "two", clientSecret: `${canary}-3` }
    await kept("PUT", "/clients/auth-providers", client)
    await kept("POST", "/clients/actions", action("more"))
    await kept("PATCH", "/clients", { name: "Clients" })
    assert.deepStrictEqual(await clientOf("clients", own.organisationId), ["two", `${canary}-3`])
    await kept("GET", "/clients/auth-methods")
    const audit = await svc.ask("GET", "/api/v1/audit?page_size=100", { key: own.key })
    for (const text of [...texts, audit.text]) assert.notInclude(text, canary)
    assert.include(
      (await mine("PATCH", "/clients/auth-methods/oauth", { clientSecret: 1 })).text,
      "auth[1].clientSecret"
    )
  })
})

describe("a webhook", () => {
  const webhook = (more: object = {}) => ({ id: "app", type: "app", eventKey: "$.type", ...accounts, ...more })
  const accounts = {
    account: { payload: "$.account", connection: "$.id" },
    verify: { scheme: "hmac", secretName: "WEBHOOK_SECRET", header: "X-Signature" }
  }

  it("is stored under its id, read, and removed unless an event needs it", async () => {
    const slug = await create()
    assert.strictEqual((await done("PUT", `/${slug}/webhooks`, webhook())).status, 200)
    await done("PUT", `/${slug}/webhooks`, webhook({ eventKey: "$.kind" }))
    assert.deepStrictEqual(await listed(`/${slug}/webhooks`, "id"), ["app"])
    const found = await read(`/${slug}/webhooks/app`)
    assert.strictEqual(found.eventKey, "$.kind")
    // A webhook can be stored as it was read.
    assert.deepStrictEqual((await done("PUT", `/${slug}/webhooks`, found)).body.data, found)
    const events = [{ id: "order.made", delivery: "webhook", payloadSchema: { type: "object" } }]
    await done("PATCH", `/${slug}`, { events })
    assert.deepStrictEqual(await read(`/${slug}/events`), [
      { ...events[0], title: "order.made", description: null, entity: null, webhook: null }
    ])
    assert.strictEqual((await ask("DELETE", `/${slug}/webhooks/app`)).status, 422)
    await done("PATCH", `/${slug}`, { events: [] })
    await done("DELETE", `/${slug}/webhooks/app`)
    assert.strictEqual((await ask("GET", `/${slug}/webhooks/app`)).status, 404)
    assert.strictEqual((await ask("PUT", `/${slug}/webhooks`, { type: "app" })).status, 422)
  })
})

describe("changes of parts", () => {
  it("compare If-Match with the connector's version, which every answer has", async () => {
    const slug = await create()
    const { headers } = await done("GET", `/${slug}/actions/getMe`)
    assert.strictEqual(headers["etag"], '"1"')
    await done(
      "PATCH",
      `/${slug}/actions/getMe`,
      { title: "Me" },
      { body: { title: "Me" }, headers: { "if-match": '"1"' } }
    )
    const stale = { headers: { "if-match": '"1"' } }
    for (const [method, path, body] of [
      ["PATCH", "", { name: "x" }],
      ["POST", "/actions", action("more")],
      ["PATCH", "/actions/getMe", {}],
      ["DELETE", "/actions/getMe", undefined],
      ["POST", "/actions/getMe/versions", action("getMe", "/v2")],
      ["POST", "/auth-methods", { id: "user", type: "basic" }],
      ["POST", "/auth-methods/key/default", undefined],
      ["PUT", "/webhooks", { id: "app", type: "app" }]
    ] as const) {
      const refused = await ask(method, `/${slug}${path}`, body, stale)
      assert.deepStrictEqual([refused.status, refused.body.code], [409, "VERSION_MISMATCH"], `${method} ${path}`)
    }
    assert.strictEqual((await done("GET", `/${slug}`)).headers["etag"], '"2"')
  })

  it("at the same time: each takes effect, or is refused because the connector has changed", async () => {
    const slug = await published()
    const all = Array.from({ length: 8 }, (_, n) => `made${n}`)
    const answers = await Promise.all(all.map((name) => ask("POST", `/${slug}/actions`, action(name))))
    const made = all.filter((_, n) => answers[n]?.status === 201)
    assert.isNotEmpty(made)
    for (const { body, status } of answers)
      if (status !== 201) assert.deepStrictEqual([status, body.code], [409, "VERSION_MISMATCH"])
    assert.sameMembers([...(await listed(`/${slug}/actions`))], ["getMe", ...made])
  })

  it("are audited as changes of the connector, with the part", async () => {
    const slug = await create()
    const { id } = await read(`/${slug}`)
    await done("POST", `/${slug}/actions`, action("more"))
    await done("DELETE", `/${slug}/actions/more`)
    const { body } = await svc.ask("GET", `/api/v1/audit?resource_id=${id}`, { key })
    const changes = body.data.filter((entry: { readonly action: string }) => entry.action === "connector.update")
    assert.lengthOf(changes, 2)
    assert.include(JSON.stringify(changes[0].changes), "action more")
  })

  it("of a built-in connector are refused; its parts are read, with all versions of its actions", async () => {
    const actions = (await done("GET", "/github/actions?page_size=3")).body
    assert.strictEqual(actions.page.hasMore, true)
    const [{ name, version }] = actions.data
    assert.strictEqual((await read(`/github/actions/${name}?version=${version}`)).name, name)
    assert.strictEqual((await ask("GET", `/github/actions/${name}?version=99`)).status, 404)
    const [newest] = await read(`/github/actions/${name}/versions`)
    assert.strictEqual(newest.version, version)
    assert.isNotNull(newest.publishedAt)
    assert.isNotEmpty(await read("/github/auth-methods"))
    assert.isNotEmpty(await read("/github/events"))
    const [webhook] = await read("/github/webhooks")
    assert.strictEqual((await read(`/github/webhooks/${webhook.id}`)).id, webhook.id)
    for (const [method, path, body] of [
      ["PATCH", "", {}],
      ["POST", "/actions", action("more")],
      ["DELETE", `/actions/${name}`, undefined],
      ["PUT", "/webhooks", webhook]
    ] as const) {
      const refused = await ask(method, `/github${path}`, body)
      assert.deepStrictEqual([refused.status, refused.body.code], [409, "CONFLICT"], `${method} ${path}`)
    }
  })
})
