/**
 * The panel's page in a frame: whom its session lets frame it, how long its token is valid, and that it has nothing else; a
 * token that is over, unknown or without origins is answered as such.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { embedFramePath } from "../../src/domain/access/EmbedFrame.js"
import { publicLimits } from "../../src/domain/Limits.js"
import { exporter, traceRequest } from "../../src/runtime/telemetry/Tracing.js"
import { findViolations } from "../support/accessibility.js"
import { type Collector, assertHidden, startCollector } from "../support/collector.js"
import { app } from "../support/cors.js"
import { asWith, keyOfCustomers, type OpenedPanel, openPanel } from "../support/embed.js"
import { dataOf, documentOf, framed, framingOf, headFor, targetOf, unframed } from "../support/embedFrame.js"
import { startWorld, type World } from "../support/endpointWorld.js"
import { eventually } from "../support/eventually.js"
import type { Answer, Ask, Running } from "../support/InProcess.js"

let world: World
let svc: Running
let customer: string
beforeAll(async () => {
  world = await startWorld()
  svc = world.svc
  customer = world.sides.inside.customer
})
afterAll(() => world.stop())

const open = (token: string, more: Ask = {}) => svc.ask("GET", targetOf(token), more)

const owner = (method: string, target: string, body?: unknown) =>
  svc.ask(method, `/api/v1${target}`, { key: svc.first.key, ...(body === undefined ? {} : { body }) })

const panel = (body: object = {}, of = customer) => openPanel(svc, of, { allowedOrigins: [app], ...body })

/** Asserts that the page says that a session of this one origin is over. */
const assertOver = (answer: Answer, sessionId: string) => {
  assert.deepStrictEqual([answer.status, framingOf(answer)], [401, framed(app)], answer.text)
  assert.deepInclude(dataOf(answer.text), { sessionId, origins: [app], expiresIn: null })
}

/** Asserts that the page tells nobody anything. */
const assertUnknown = (answer: Answer) => {
  assert.deepStrictEqual([answer.status, framingOf(answer)], [401, unframed], answer.text)
  assert.include(answer.text, "This session has ended")
  assert.notMatch(answer.text, /<script|svc-panel|ems_/)
}

describe("the address of a mint and of a refresh", () => {
  it("opens the panel's page, which says of the session what the panel needs, and of its token nothing", async () => {
    const { key } = await keyOfCustomers(svc, [customer])
    const theme = { colors: { accent: "#123456" }, radius: 4, font: "Inter, sans-serif" }
    const minted = await asWith(svc, key)("POST", "/embed/token", {
      body: {
        endOrgId: customer,
        userName: "canary_name",
        metadata: { note: "canary_note" },
        allowedOrigins: [app],
        theme
      },
      headers: { "idempotency-key": "address" }
    })
    const { iframeUrl, sessionId, token } = minted.body
    assert.strictEqual(iframeUrl, `http://svc.test${targetOf(token)}`)
    const again = await asWith(svc, token)("POST", "/embed/token/refresh")
    assert.strictEqual(again.body.iframeUrl, `http://svc.test${targetOf(again.body.token)}`)
    const byBackend = await asWith(svc, key)("POST", "/embed/token/refresh", { body: { token: again.body.token } })
    assert.strictEqual(byBackend.body.iframeUrl, `http://svc.test${targetOf(byBackend.body.token)}`)
    const { text, ...answer } = await open(byBackend.body.token)
    assert.deepStrictEqual([answer.status, framingOf(answer)], [200, framed(app)], text)
    assert.match(answer.headers["x-request-id"] ?? "", /^req_/)
    const { expiresIn, ...data } = dataOf(text)
    assert.deepStrictEqual(data, { sessionId, origins: [app], locale: "en", theme })
    assert.isTrue(Number.isInteger(expiresIn) && expiresIn > 800 && expiresIn <= 900, `${expiresIn}`)
    assert.notMatch(text, /emb_|canary|cus_/)
  })

  it("under the Idempotency-Key of the mint is the same", async () => {
    const { key } = await keyOfCustomers(svc, [customer])
    const mint = () =>
      asWith(svc, key)("POST", "/embed/token", {
        body: { endOrgId: customer },
        headers: { "idempotency-key": "again" }
      })
    const [first, again] = [await mint(), await mint()]
    assert.strictEqual(again.headers["idempotent-replayed"], "true")
    assert.deepStrictEqual(
      [again.body.iframeUrl, first.body.iframeUrl],
      Array(2).fill(`http://svc.test${targetOf(first.body.token)}`)
    )
  })
})

describe("the panel's page", () => {
  it("may be framed by exactly the origins of its session", async () => {
    const origins = [app, "https://xn--bcher-kva.example:8443", "http://localhost:3000", "http://[::1]:3000"]
    const { token } = await panel({ allowedOrigins: origins })
    const answer = await open(token)
    assert.deepStrictEqual([answer.status, framingOf(answer)], [200, framed(origins.join(" "))])
    assert.deepStrictEqual(dataOf(answer.text).origins, origins)
    const head = await svc.ask("HEAD", targetOf(token))
    assert.deepStrictEqual([head.status, framingOf(head)], [200, framingOf(answer)])
  })

  it("is never framed by an origin that cannot be named, also if a stored session has it", async () => {
    const { sessionId, token } = await panel()
    const store = (origins: string) =>
      svc.sql(`UPDATE embed_sessions SET allowed_origins = ARRAY[${origins}] WHERE id = '${sessionId}'`)
    await store(`'*', '${app}', 'null', 'https://a.example; script-src *'`)
    assert.deepStrictEqual(framingOf(await open(token)), framed(app))
    await store("'*', 'null'")
    const none = await open(token, { later: "1 second" })
    assert.deepStrictEqual([none.status, framingOf(none)], [403, unframed])
  })

  it.each([
    ["en", "Integrations", "JavaScript"],
    ["de", "Integrationen", "braucht JavaScript"]
  ])("is in the language of its session: %s", async (locale, title, noScript) => {
    const { token } = await panel({ locale })
    const { text } = await open(token)
    const document = documentOf(text)
    assert.strictEqual(document.querySelector("html")?.getAttribute("lang"), locale)
    assert.strictEqual(document.querySelector("title")?.textContent, title)
    assert.include(document.querySelector("noscript")?.textContent ?? "", noScript)
    assert.strictEqual(dataOf(text).locale, locale)
    assert.strictEqual(
      document.querySelector("#root")?.textContent,
      "The panel is not part of this build: run `npm run build`."
    )
    assert.deepStrictEqual(await findViolations(text), [])
  })

  it("has texts of the company as data only, whatever they are", async () => {
    const hostile = `"'><script>alert(1)</script><!--&quot;&amp;\u2028`
    const { sessionId, token } = await panel({ userName: hostile })
    await svc.sql(`UPDATE embed_sessions SET theme = '${JSON.stringify({ font: hostile }).replaceAll("'", "''")}'
      WHERE id = '${sessionId}'`)
    const { text } = await open(token)
    assert.strictEqual(dataOf(text).theme.font, hostile)
    const document = documentOf(text)
    for (const selector of ["script", "style", "[style]", "[onload]", "[onerror]"])
      assert.lengthOf(document.querySelectorAll(selector), 0, selector)
    assert.strictEqual(document.querySelector("body > :first-child")?.getAttribute("id"), "root")
    assert.notInclude(text, hostile)
  })

  it("is read only, and its files are", async () => {
    const { token } = await panel()
    for (const target of [targetOf(token), embedFramePath, "/embed/start"])
      for (const method of ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"]) {
        const answer = await svc.ask(method, target, method === "POST" ? { body: {} } : {})
        assert.deepStrictEqual([answer.status, answer.headers["allow"]], [405, "GET, HEAD"], `${method} ${target}`)
      }
    const missing = await svc.ask("GET", "/embed/Main-A1B2.js")
    assert.deepStrictEqual(
      [missing.status, missing.text],
      [404, "The panel is not part of this build: run `npm run build`."]
    )
    assert.deepStrictEqual((await svc.send({ ...headFor(token), body: new Uint8Array() })).isPublic, true)
  })

  it("is counted for its address", async () => {
    // Two minutes may share them.
    for (let n = 0; n <= 2 * publicLimits.perMinute.page; n++) {
      const answer = await svc.ask("GET", embedFramePath, { from: "192.0.2.71" })
      if (answer.status === 401) continue
      assert.strictEqual(answer.status, 429)
      assert.match(answer.headers["retry-after"] ?? "", /^\d+$/)
      return assert.include(answer.headers["content-security-policy"], "frame-ancestors 'none'")
    }
    assert.fail("was never refused")
  })
})

describe("a token", () => {
  it("that has expired opens the page while it can be refreshed, and later says that it is over", async () => {
    const { sessionId, token } = await panel({ expiresIn: 60 })
    const valid = await open(token, { later: "20 seconds" })
    assert.include([39, 40], dataOf(valid.text).expiresIn)
    const expired = await open(token, { later: "180 seconds" })
    assert.deepStrictEqual([expired.status, framingOf(expired), dataOf(expired.text).expiresIn], [200, framed(app), 0])
    assertOver(await open(token, { later: "420 seconds" }), sessionId)
  })

  it("that was replaced opens the page for 60 seconds", async () => {
    const { ask, sessionId, token } = await panel()
    const refreshed = await ask("POST", "/embed/token/refresh")
    const first = await open(token, { later: "10 seconds" })
    assert.strictEqual(first.status, 200)
    assert.include([48, 49, 50], dataOf(first.text).expiresIn)
    assertOver(await open(token, { later: "61 seconds" }), sessionId)
    const newer = await open(refreshed.body.token, { later: "61 seconds" })
    assert.strictEqual(newer.status, 200)
    assert.isAbove(dataOf(newer.text).expiresIn, 800)
    // After another refresh its hash is not stored any more.
    await asWith(svc, refreshed.body.token)("POST", "/embed/token/refresh")
    assertUnknown(await open(token, { later: "1 second" }))
  })

  it("of a session of seven days says that it is over", async () => {
    const { sessionId, token } = await panel({ expiresIn: 28_800 })
    await svc.sql(`UPDATE embed_sessions SET expires_at = now() - interval '1 second',
      token_expires_at = now() - interval '1 second' WHERE id = '${sessionId}'`)
    assertOver(await open(token), sessionId)
  })

  const ends: ReadonlyArray<readonly [string, (opened: OpenedPanel, own: string) => Promise<Answer>]> = [
    ["session is deleted", ({ backend, sessionId }) => backend("DELETE", `/embed/sessions/${sessionId}`)],
    ["key is revoked", ({ keyId }) => owner("DELETE", `/api-keys/${keyId}`)],
    ["customer is suspended", (_, own) => owner("PUT", `/customers/${own}`, { status: "suspended" })],
    ["customer is deleted", (_, own) => owner("DELETE", `/customers/${own}`)]
  ]
  it.each(ends)("whose %s says that it is over", async (_, end) => {
    const own = await world.make.customer()
    const opened = await panel({}, own)
    assert.strictEqual((await open(opened.token)).status, 200)
    const done = await end(opened, own)
    assert.isBelow(done.status, 300, done.text)
    const page = await eventually(
      () => open(opened.token),
      ({ status }) => status !== 200
    )
    assertOver(page, opened.sessionId)
  })

  it("of a session without origins is shown nowhere, and says what to do", async () => {
    const { backend, sessionId, token } = await panel({ allowedOrigins: [] })
    const answer = await open(token)
    assert.deepStrictEqual([answer.status, framingOf(answer)], [403, unframed])
    assert.include(answer.text, "allowedOrigins")
    assert.notMatch(answer.text, /<script|svc-panel|ems_/)
    assert.deepStrictEqual(await findViolations(answer.text), [])
    await backend("DELETE", `/embed/sessions/${sessionId}`)
    const over = await eventually(
      () => open(token),
      ({ status }) => status !== 403
    )
    assertUnknown(over)
  })

  it("that is unknown, malformed or absent gets one answer", async () => {
    const token = `emb_${"a".repeat(43)}`
    const targets = [
      targetOf(token),
      targetOf(""),
      targetOf("emb_"),
      targetOf(`${token}a`),
      targetOf(`${token}%00`),
      targetOf(`*`),
      targetOf(svc.first.key),
      embedFramePath,
      `${embedFramePath}?tokens=${token}`,
      `${embedFramePath}?x=1&token=%65mb_`
    ]
    const [first, ...others] = await Promise.all(targets.map((target) => svc.ask("GET", target)))
    assertUnknown(first ?? assert.fail())
    for (const other of others) {
      assertUnknown(other)
      assert.strictEqual(other.text, first?.text)
    }
    assert.deepStrictEqual(await findViolations(first?.text ?? ""), [])
  })

  it("is read from the address alone", async () => {
    const { token } = await panel()
    assertUnknown(await svc.ask("GET", embedFramePath, { key: token }))
    assertUnknown(await svc.ask("GET", embedFramePath, { headers: { cookie: `token=${token}` } }))
    assert.strictEqual((await svc.ask("GET", `${embedFramePath}?x=1&token=${token}&y=2`)).status, 200)
  })
})

describe("the token of an address", () => {
  let otlp: Collector
  beforeAll(async () => {
    otlp = await startCollector()
  })
  afterAll(() => otlp.close())

  it("is in no audit entry and no span", async () => {
    const { ask, backend, token } = await panel()
    await open(token)
    await svc.ask("POST", targetOf(token), { body: {} })
    await asWith(svc, token)("GET", `/embed/iframe?token=${token}`)
    const refreshed = await ask("POST", "/embed/token/refresh")
    await backend("POST", "/embed/token/refresh", { body: { token: refreshed.body.token } })
    const trail = await eventually(
      () => svc.sql<{ row: string }>("SELECT row_to_json(a)::text AS row FROM audit_entries a"),
      (rows) => rows.some(({ row }) => row.includes("embed.token.refresh"))
    )
    const request = { ...headFor(token), body: new Uint8Array() }
    const handled = Effect.promise(() => svc.send(request))
    await traceRequest(request, handled).pipe(
      Effect.provide(exporter({ otlpUrl: Option.some(otlp.url), otlpHeaders: Option.none() })),
      Effect.withTracerEnabled(false),
      Effect.runPromise
    )
    const spans = await eventually(
      async () => otlp.received("/v1/traces"),
      (text) => text.includes("/embed/iframe")
    )
    assertHidden(
      new Map([
        ["token", token.slice(4)],
        ["newer", refreshed.body.token.slice(4)]
      ]),
      new Map([
        ["spans", spans],
        ["trail", JSON.stringify(trail)]
      ])
    )
  })
})
