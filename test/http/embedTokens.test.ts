/** Embed tokens and their sessions: minted by a backend, refreshed by a page, ended by whatever they depend on. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { startWorld, type World } from "../support/endpointWorld.js"
import { asWith, keyOfCustomers, openPanel } from "../support/embed.js"
import { eventually } from "../support/eventually.js"
import type { Answer, Running } from "../support/InProcess.js"

let world: World
let svc: Running
let customer: string
let other: string
beforeAll(async () => {
  world = await startWorld()
  svc = world.svc
  customer = world.sides.inside.customer
  other = world.sides.outside.customer
})
afterAll(() => world.stop())

const owner = (method: string, target: string, body?: unknown) =>
  svc.ask(method, `/api/v1${target}`, { key: svc.first.key, ...(body === undefined ? {} : { body }) })

/** A published widget of the side's connector. */
const publishedWidget = async (more: object = {}): Promise<string> => {
  const body = {
    name: world.unique(),
    connectors: [world.sides.inside.connector],
    allowedOrigins: ["https://app.example.com"],
    ...more
  }
  const made = await owner("POST", "/widgets", body)
  assert.strictEqual(made.status, 201, made.text)
  const published = await owner("POST", `/widgets/${made.body.data.id}/publish`, {})
  assert.strictEqual(published.status, 200, published.text)
  return made.body.data.id
}

const codeOf = ({ body, status }: Answer) => [status, body?.code]

describe("a mint", () => {
  it("opens a session, which says for whom it is and until when, and never its token", async () => {
    const { backend, sessionId, token } = await openPanel(svc, customer, {
      userEmail: "ada@example.com",
      userName: "Ada",
      metadata: { plan: "gold" }
    })
    assert.match(token, /^emb_[A-Za-z0-9_-]{43}$/)
    const { body } = await backend("GET", `/embed/sessions/${sessionId}`)
    assert.deepInclude(body.data, {
      id: sessionId,
      customerId: customer,
      userId: "email:ada@example.com",
      userName: "Ada",
      widgetId: null,
      connectors: null,
      locale: "en",
      allowedOrigins: [],
      endedAt: null
    })
    const days = (Date.parse(body.data.expiresAt) - Date.parse(body.data.createdAt)) / 86_400_000
    assert.strictEqual(days, 7)
    const rows = await svc.sql<{ row: string }>(
      `SELECT row_to_json(s)::text AS row FROM embed_sessions s WHERE id = '${sessionId}'`
    )
    assert.lengthOf(rows, 1)
    assert.notInclude(JSON.stringify(rows), token.slice(4))
  })

  it("is of a key of chosen customers, whatever its preset", async () => {
    const body = { endOrgId: customer }
    const mint = (key: string) => asWith(svc, key)("POST", "/embed/token", { body })
    assert.deepStrictEqual(codeOf(await mint(svc.first.key)), [403, "CUSTOMER_SUBSET_REQUIRED"])
    // A header narrows the request, not the key.
    const narrowed = await asWith(svc, svc.first.key)("POST", "/embed/token", { headers: { "x-end-org-id": customer } })
    assert.deepStrictEqual(codeOf(narrowed), [403, "CUSTOMER_SUBSET_REQUIRED"])
    const { ask } = await openPanel(svc, customer)
    assert.deepStrictEqual(codeOf(await ask("POST", "/embed/token", { body })), [403, "FORBIDDEN"])
    for (const permissions of [{ widgets: ["read"] }, { connections: ["create"] }]) {
      const { key } = await keyOfCustomers(svc, [customer], { preset: "custom", permissions })
      const refused = await mint(key)
      assert.strictEqual(refused.status, 403, refused.text)
      assert.match(refused.body.message, /lacks the permission (?:connections:create|widgets:read)/)
    }
    const { key } = await keyOfCustomers(svc, [customer], {
      preset: "custom",
      permissions: { widgets: ["read"], connections: ["create"] }
    })
    assert.strictEqual((await mint(key)).status, 201)
  })

  it("names its customer in the body or a header, by id or reference, and all must agree", async () => {
    await owner("PUT", `/customers/${customer}`, { externalRef: "shop-17" })
    const { key } = await keyOfCustomers(svc, [customer, other])
    const mint = (body: object, headers: Answer["headers"] = {}) =>
      asWith(svc, key)("POST", "/embed/token", { body, headers })
    for (const answer of [
      await mint({ endOrgId: customer }),
      await mint({ endOrgId: "ref:shop-17" }),
      await mint({ endOrgRef: "shop-17" }),
      await mint({ endOrgId: customer, endOrgRef: "shop-17" }),
      await mint({}, { "x-end-org-id": customer }),
      await mint({}, { "x-end-org-ref": "shop-17" }),
      await mint({ endOrgRef: "shop-17" }, { "x-org-id": customer })
    ])
      assert.deepStrictEqual([answer.status, answer.body.endOrgId], [201, customer], answer.text)
    const refused = async (...sent: Parameters<typeof mint>) => codeOf(await mint(...sent))
    assert.deepStrictEqual(await refused({}), [422, "VALIDATION_FAILED"])
    assert.deepStrictEqual(await refused({ endOrgId: other, endOrgRef: "shop-17" }), [422, "VALIDATION_FAILED"])
    assert.deepStrictEqual(await refused({ endOrgId: other }, { "x-end-org-id": customer }), [400, "INVALID_HEADER"])
    assert.deepStrictEqual(await refused({ endOrgRef: "shop-18" }, { "x-end-org-id": customer }), [
      400,
      "INVALID_HEADER"
    ])
    const narrow = await keyOfCustomers(svc, [other])
    const beyond = await asWith(svc, narrow.key)("POST", "/embed/token", { body: { endOrgId: customer } })
    assert.deepStrictEqual([beyond.status, beyond.body.details[0].path], [422, "endOrgId"])
  })

  it("is within its widget, which must be published", async () => {
    const { connector } = world.sides.inside
    const integration = { slug: "sync", title: "Sync", connectors: ["hubspot"] }
    const widgetId = await publishedWidget({
      locale: "de",
      theme: { radius: 4 },
      features: { integrations: [integration] }
    })
    const { backend, sessionId } = await openPanel(svc, customer, { widgetId })
    const { body } = await backend("GET", `/embed/sessions/${sessionId}`)
    assert.deepInclude(body.data, {
      widgetId,
      widgetVersion: 1,
      connectors: [connector, "hubspot"],
      allowedOrigins: ["https://app.example.com"],
      locale: "de",
      theme: { radius: 4 }
    })
    const pathOf = async (more: object) => {
      const answer = await backend("POST", "/embed/token", { body: { endOrgId: customer, widgetId, ...more } })
      return [answer.status, answer.body.details?.[0]?.path]
    }
    assert.deepStrictEqual(await pathOf({ connectors: [connector] }), [201, undefined])
    assert.deepStrictEqual(await pathOf({ connectors: [connector, "salesforce"] }), [422, "connectors[1]"])
    assert.deepStrictEqual(await pathOf({ allowedOrigins: ["https://app.example.com:8443"] }), [
      422,
      "allowedOrigins[0]"
    ])
    const draft = await owner("POST", "/widgets", { name: world.unique() })
    assert.deepStrictEqual(await pathOf({ widgetId: draft.body.data.id }), [422, "widgetId"])
    assert.deepStrictEqual(await pathOf({ widgetId: "wdg_00000000000000000000000000" }), [422, "widgetId"])
    assert.deepStrictEqual(await pathOf({ widgetId: null, connectors: ["no-such"] }), [422, "connectors[0]"])
    assert.deepStrictEqual(await pathOf({ permissions: { secrets: ["read"] } }), [422, "permissions"])
    assert.deepStrictEqual(await pathOf({ expiresIn: 59 }), [422, "expiresIn"])
    assert.deepStrictEqual(await pathOf({ expiresIn: 28_801 }), [422, "expiresIn"])
    assert.deepStrictEqual(await pathOf({ allowedOrigins: ["https://*.example.com"] }), [422, "allowedOrigins[0]"])
    assert.deepStrictEqual(await pathOf({ theme: { colors: { text: "#777777", background: "#888888" } } }), [
      422,
      "theme.colors.text"
    ])
    assert.deepStrictEqual(await pathOf({ metadata: { text: "x".repeat(5_000) } }), [422, "metadata"])
  })

  it("lets pages of a published widget's origins ask, as soon as it is published", async () => {
    const origin = `https://${world.unique()}.example.com`
    const preflight = () =>
      svc.ask("OPTIONS", "/api/v1/connections", { headers: { origin, "access-control-request-method": "GET" } })
    const made = await owner("POST", "/widgets", { name: world.unique(), allowedOrigins: [origin] })
    assert.notStrictEqual((await preflight()).status, 204)
    await owner("POST", `/widgets/${made.body.data.id}/publish`, {})
    const answer = await eventually(preflight, ({ status }) => status === 204)
    assert.strictEqual(answer.headers["access-control-allow-origin"], origin)
    await owner("DELETE", `/widgets/${made.body.data.id}`)
    assert.strictEqual((await eventually(preflight, ({ status }) => status !== 204)).status, 405)
  })

  it("under an Idempotency-Key answers the same token, which is stored sealed", async () => {
    const { key } = await keyOfCustomers(svc, [customer])
    const mint = () =>
      asWith(svc, key)("POST", "/embed/token", {
        body: { endOrgId: customer },
        headers: { "idempotency-key": "mint once" }
      })
    const [first, again] = [await mint(), await mint()]
    assert.strictEqual(again.headers["idempotent-replayed"], "true")
    assert.strictEqual(again.body.token, first.body.token)
    assert.strictEqual(first.headers["cache-control"], "no-store")
    const rows = await svc.sql<{ text: string }>(
      "SELECT encode(sealed, 'escape') AS text FROM idempotent_replies WHERE key LIKE '%mint once'"
    )
    assert.lengthOf(rows, 1)
    assert.notInclude(JSON.stringify(rows), "emb_")
  })

  it("is for active customers only", async () => {
    const suspended = await world.make.customer()
    await owner("PUT", `/customers/${suspended}`, { status: "suspended" })
    const { key } = await keyOfCustomers(svc, [suspended])
    const refused = await asWith(svc, key)("POST", "/embed/token", { body: { endOrgId: suspended } })
    assert.deepStrictEqual(codeOf(refused), [409, "INVALID_STATE"])
  })
})

describe("a refresh", () => {
  it("answers ten pages at once with the same newer token", async () => {
    const { ask, token } = await openPanel(svc, customer)
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask("POST", "/embed/token/refresh")))
    const tokens = new Set(answers.map(({ body, status, text }) => (status === 200 ? body.token : text)))
    assert.lengthOf([...tokens], 1)
    assert.notInclude([...tokens], token)
    const [newer = ""] = tokens
    assert.strictEqual((await asWith(svc, newer)("GET", "/connections")).status, 200)
    assert.strictEqual((await ask("GET", "/connections")).status, 200)
  })

  it("leaves the token before valid for 60 seconds, also to be refreshed", async () => {
    const { ask } = await openPanel(svc, customer)
    const first = await ask("POST", "/embed/token/refresh")
    const second = await ask("POST", "/embed/token/refresh", { later: "59 seconds" })
    assert.strictEqual(second.body.token, first.body.token)
    for (const [method, target] of [
      ["GET", "/connections"],
      ["POST", "/embed/token/refresh"]
    ] as const)
      assert.deepStrictEqual(codeOf(await ask(method, target, { later: "61 seconds" })), [401, "TOKEN_EXPIRED"])
    assert.strictEqual(
      (await asWith(svc, first.body.token)("GET", "/connections", { later: "61 seconds" })).status,
      200
    )
  })

  it("takes a token until five minutes after it expired; other calls do not", async () => {
    const { ask } = await openPanel(svc, customer, { expiresIn: 60 })
    const at = async (method: string, target: string, later: "61 seconds" | "359 seconds" | "361 seconds") =>
      codeOf(await ask(method, target, { later }))
    assert.deepStrictEqual(await at("GET", "/connections", "61 seconds"), [401, "TOKEN_EXPIRED"])
    assert.deepStrictEqual(await at("POST", "/embed/token/refresh", "361 seconds"), [401, "TOKEN_EXPIRED"])
    const late = await ask("POST", "/embed/token/refresh", { later: "359 seconds" })
    assert.deepStrictEqual([late.status, late.body.expiresIn], [200, 60], late.text)
  })

  it("ends with the session: after seven days nothing revives it", async () => {
    const { ask, backend, sessionId, token } = await openPanel(svc, customer, { expiresIn: 28_800 })
    await svc.sql(`UPDATE embed_sessions SET expires_at = now() - interval '1 second',
      token_expires_at = now() - interval '1 second' WHERE id = '${sessionId}'`)
    for (const [method, target] of [
      ["GET", "/connections"],
      ["POST", "/embed/token/refresh"]
    ] as const)
      assert.deepStrictEqual(codeOf(await ask(method, target, { later: "1 second" })), [401, "SESSION_EXPIRED"])
    const byBackend = await backend("POST", "/embed/token/refresh", { body: { token }, later: "1 second" })
    assert.deepStrictEqual(codeOf(byBackend), [401, "SESSION_EXPIRED"])
  })

  it("is for the backend, too, of a customer that its key reaches", async () => {
    const { backend, sessionId, token } = await openPanel(svc, customer)
    const done = await backend("POST", "/embed/token/refresh", { body: { token } })
    assert.deepStrictEqual([done.status, done.body.sessionId], [200, sessionId], done.text)
    const stranger = asWith(svc, (await keyOfCustomers(svc, [other])).key)
    const refused = await stranger("POST", "/embed/token/refresh", { body: { token: done.body.token } })
    assert.deepStrictEqual(codeOf(refused), [404, "NOT_FOUND"])
    const none = await backend("POST", "/embed/token/refresh", { body: {} })
    assert.deepStrictEqual([none.status, none.body.details[0].path], [422, "token"])
    const unknown = await backend("POST", "/embed/token/refresh", { body: { token: `emb_${"A".repeat(43)}` } })
    assert.deepStrictEqual(codeOf(unknown), [404, "NOT_FOUND"])
  })
})

describe("a session ends, and says so,", () => {
  const isOver = async (ask: Awaited<ReturnType<typeof openPanel>>["ask"]) => {
    for (const [method, target] of [
      ["GET", "/connections"],
      ["POST", "/embed/token/refresh"]
    ] as const) {
      const answer = await eventually(
        () => ask(method, target),
        ({ status }) => status !== 200
      )
      assert.deepStrictEqual(codeOf(answer), [401, "SESSION_EXPIRED"], answer.text)
    }
  }

  it("when it is deleted; again changes nothing", async () => {
    const { ask, backend, sessionId } = await openPanel(svc, customer)
    assert.strictEqual((await ask("GET", "/connections")).status, 200)
    for (let n = 0; n < 2; n++)
      assert.strictEqual((await backend("DELETE", `/embed/sessions/${sessionId}`)).status, 204)
    await isOver(ask)
    const listed = async (status: string) =>
      (await backend("GET", `/embed/sessions?status=${status}`)).body.data.map(({ id }: { readonly id: string }) => id)
    assert.notInclude(await listed("active"), sessionId)
    assert.include(await listed("ended"), sessionId)
  })

  it("when its key is revoked, and not when the key is rotated", async () => {
    const { ask, keyId } = await openPanel(svc, customer)
    await owner("POST", `/api-keys/${keyId}/rotate`, {})
    assert.strictEqual((await ask("GET", "/connections", { later: "1 second" })).status, 200)
    await owner("DELETE", `/api-keys/${keyId}`)
    await isOver(ask)
  })

  it("when its key no longer reaches its customer", async () => {
    const { ask, keyId } = await openPanel(svc, customer)
    assert.strictEqual((await ask("GET", "/connections")).status, 200)
    const changed = await owner("PUT", `/api-keys/${keyId}`, { customers: { mode: "subset", ids: [other] } })
    assert.strictEqual(changed.status, 200, changed.text)
    await isOver(ask)
  })

  it.each(["suspended", "deleted"])("when its customer is %s", async (end) => {
    const own = await world.make.customer()
    const { ask } = await openPanel(svc, own)
    assert.strictEqual((await ask("GET", "/connections")).status, 200)
    const done =
      end === "deleted"
        ? await owner("DELETE", `/customers/${own}`)
        : await owner("PUT", `/customers/${own}`, { status: "suspended" })
    assert.isBelow(done.status, 300, done.text)
    await isOver(ask)
  })

  it("when its widget is deleted", async () => {
    const widgetId = await publishedWidget()
    const { ask } = await openPanel(svc, customer, { widgetId })
    assert.strictEqual((await ask("GET", "/connections")).status, 200)
    assert.strictEqual((await owner("DELETE", `/widgets/${widgetId}`)).status, 204)
    await isOver(ask)
  })

  it("while it is being refreshed: whichever comes first, nothing works afterwards", async () => {
    const { ask, backend, sessionId } = await openPanel(svc, customer)
    const [refreshes] = await Promise.all([
      Promise.all(Array.from({ length: 5 }, () => ask("POST", "/embed/token/refresh"))),
      backend("DELETE", `/embed/sessions/${sessionId}`)
    ])
    for (const { body, status } of refreshes)
      if (status === 200) await isOver(asWith(svc, body.token))
      else assert.deepStrictEqual([status, body.code], [401, "SESSION_EXPIRED"])
    await isOver(ask)
  })
})
