/** A page reads the replies to its embed token if the session names its origin, also refusals; keys and cookies give none. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { request } from "node:http"
import { embedLimits } from "../../src/domain/access/EmbedSession.js"
import { bodyBytes, incomingBody, publicLimits } from "../../src/domain/Limits.js"
import { type Ask, type Running, start } from "../support/InProcess.js"
import { app, corsOf, readable, unreadable } from "../support/cors.js"
import { makeKey } from "../support/keys.js"
import { origin as ownOrigin, signInTo } from "../support/signIn.js"

const named = [app, "https://xn--bcher-kva.example", "http://localhost:3000"]
const connections = "/api/v1/connections"

let svc: Running
let port: number
let key: string
beforeAll(async () => {
  svc = await start({ SVC_PUBLIC_URL: ownOrigin })
  port = (await svc.listen()).port
  key = (await makeKey(svc, { customers: { mode: "subset", ids: [svc.first.customerId] } })).key
})
afterAll(() => svc.stop())

const mint = async (allowedOrigins: ReadonlyArray<string> = named) => {
  const body = { endOrgId: svc.first.customerId, allowedOrigins }
  const made = await svc.ask("POST", "/api/v1/embed/token", { key, body })
  assert.strictEqual(made.status, 201, made.text)
  return { token: String(made.body.token), sessionId: String(made.body.sessionId) }
}

const end = async (sessionId: string) =>
  assert.strictEqual((await svc.ask("DELETE", `/api/v1/embed/sessions/${sessionId}`, { key })).status, 204)

const from = (origin: string, more: Ask["headers"] = {}) => ({ headers: { origin, ...more } })

/** Sends a request to the server itself; `bytes`: of a body, `undefined` for one that is announced and never sent. */
const sendOver = (method: string, path: string, headers: Record<string, string>, bytes?: number) =>
  new Promise<{ readonly status: number; readonly headers: Record<string, string> }>((resolve, reject) => {
    const out = request({ port, host: "127.0.0.1", method, path, headers }, (answer) => {
      answer.resume().on("end", () => {
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers as Record<string, string> })
        out.destroy()
      })
    }).on("error", reject)
    if (bytes === undefined) out.flushHeaders()
    else out.end(Buffer.alloc(bytes, " "))
  })

describe("the reply to an embed token", () => {
  it.each(named)("is readable for a page of %s, which the session names", async (origin) => {
    const { token } = await mint()
    const answer = await svc.ask("GET", connections, { key: token, ...from(origin) })
    assert.deepStrictEqual([answer.status, corsOf(answer)], [200, readable(origin)], answer.text)
  })

  it.each([
    "https://app.example.com:8443",
    "https://app.example.com:443",
    "https://APP.example.com",
    "HTTPS://app.example.com",
    "https://app.example.com.",
    "https://app.example.com/",
    "http://app.example.com",
    "https://example.com",
    "https://x.app.example.com",
    "https://app.example.com.evil.example",
    "https://bücher.example",
    "http://localhost",
    "http://localhost:3001",
    "http://127.0.0.1:3000",
    `${app}, ${app}`,
    `${app} ${app}`,
    "*",
    "null",
    ""
  ])("is not readable for %j", async (origin) => {
    const { token } = await mint()
    const answer = await svc.ask("GET", connections, { key: token, ...from(origin) })
    assert.deepStrictEqual([answer.status, corsOf(answer)], [200, unreadable], answer.text)
  })

  it("is not readable for the origin null, also if a stored session names it", async () => {
    const { sessionId, token } = await mint()
    await svc.sql(`UPDATE embed_sessions SET allowed_origins = ARRAY['null', '*'] WHERE id = '${sessionId}'`)
    for (const origin of ["null", "*"]) {
      assert.deepStrictEqual(corsOf(await svc.ask("GET", connections, { key: token, ...from(origin) })), unreadable)
      const asked = { "access-control-request-method": "GET" }
      assert.deepStrictEqual(corsOf(await svc.ask("OPTIONS", connections, from(origin, asked))), unreadable)
    }
  })

  it("is readable for no page if the session names no origin", async () => {
    const { token } = await mint([])
    assert.deepStrictEqual(corsOf(await svc.ask("GET", connections, { key: token, ...from(app) })), unreadable)
  })

  it("says nothing to a request without an origin", async () => {
    const { token } = await mint()
    const answer = await svc.ask("GET", connections, { key: token })
    assert.deepStrictEqual([answer.status, corsOf(answer)], [200, {}])
  })

  it("is readable wherever authentication takes the token from, and not beside another credential", async () => {
    const { token } = await mint()
    const ask = async (headers: Record<string, string>) => {
      const answer = await svc.ask("GET", connections, from(app, headers))
      return [answer.status, corsOf(answer)]
    }
    assert.deepStrictEqual(await ask({ authorization: `bearer  ${token}` }), [200, readable()])
    assert.deepStrictEqual(await ask({ "x-svc-api-key": token }), [200, readable()])
    assert.deepStrictEqual(await ask({ authorization: `Bearer ${token}`, "x-svc-api-key": token }), [200, readable()])
    assert.deepStrictEqual(await ask({ authorization: `Bearer ${token}`, "x-svc-api-key": key }), [401, {}])
    assert.deepStrictEqual(await ask({ authorization: `Bearer ${key}`, "x-svc-api-key": token }), [401, {}])
    assert.deepStrictEqual(await ask({ authorization: token, "x-svc-api-key": token }), [401, {}])
  })

  it("adds the origin to what else the reply depends on, also to HEAD", async () => {
    const { token } = await mint()
    const headers = { origin: app, authorization: `Bearer ${token}` }
    for (const method of ["GET", "HEAD"]) {
      const answer = await sendOver(method, "/api/v1/flow.schema.json", headers, 0)
      assert.deepStrictEqual([answer.status, corsOf(answer)], [200, readable(app, "accept-encoding, Origin")])
    }
  })
})

describe("replies to other credentials", () => {
  it.each([app, ownOrigin, "null"])("have no header of CORS for %s", async (origin) => {
    await mint()
    const { cookie } = await signInTo(() => svc).newOwner(`Of ${origin}`)
    const own = { cookie, "sec-fetch-site": "same-origin" }
    const asked: ReadonlyArray<readonly [string, string, Ask]> = [
      ["GET", connections, { key, ...from(origin) }],
      ["GET", connections, from(origin, { "x-svc-api-key": key })],
      ["GET", "/api/v1/nothing", { key, ...from(origin) }],
      ["DELETE", "/api/v1/audit", { key, ...from(origin) }],
      ["GET", "/api/v1/me", from(origin, own)],
      ["GET", "/api/v1/me", from(origin)],
      ["GET", connections, { key: "svk_live_unknown", ...from(origin) }],
      ["GET", "/api/v1/openapi.json", from(origin)]
    ]
    for (const [method, target, ask] of asked) {
      const answer = await svc.ask(method, target, ask)
      assert.isEmpty(
        Object.keys(answer.headers).filter((name) => name.startsWith("access-control-")),
        target
      )
    }
  })
})

describe("a refusal", () => {
  it("of a token that has expired or was replaced, or of an ended session, is readable", async () => {
    const { sessionId, token } = await mint()
    const ask = (later: number) => svc.ask("GET", connections, { key: token, ...from(app), later: `${later} seconds` })
    const expired = await ask(embedLimits.token.usual + 1)
    assert.deepStrictEqual([expired.status, expired.body.code, corsOf(expired)], [401, "TOKEN_EXPIRED", readable()])
    await end(sessionId)
    const ended = await ask(2)
    assert.deepStrictEqual([ended.status, ended.body.code, corsOf(ended)], [401, "SESSION_EXPIRED", readable()])
  })

  it("of an unknown token is not readable", async () => {
    await mint()
    const answer = await svc.ask("GET", connections, { key: `emb_${"a".repeat(43)}`, ...from(app) })
    assert.deepStrictEqual([answer.status, corsOf(answer)], [401, unreadable])
  })

  it.each([
    ["GET", "/api/v1/api-keys", 403],
    ["GET", "/api/v1/nothing", 404],
    ["GET", "/nothing", 404],
    ["PATCH", connections, 405],
    ["GET", "/api/v1/workflows/wf_1/execute", 405],
    ["PURGE", "/api/v1/proxy/x", 405],
    ["OPTIONS", connections, 405]
  ])("%s %s: %d is readable", async (method, target, status) => {
    const { token } = await mint()
    const answer = await svc.ask(method, target, { key: token, ...from(app) })
    assert.deepStrictEqual([answer.status, corsOf(answer)], [status, readable()], answer.text)
    assert.deepStrictEqual(corsOf(await svc.ask(method, target, { key: token, ...from(`${app}:1`) })), unreadable)
  })

  it("of too many calls is readable, with when to call again", async () => {
    const { token } = await mint()
    // Two minutes may share them.
    for (let n = 0; n <= 2 * embedLimits.callsPerMinute; n++) {
      const answer = await svc.ask("GET", connections, { key: token, ...from(app) })
      assert.deepStrictEqual(corsOf(answer), readable())
      if (answer.status === 429) return assert.match(answer.headers["retry-after"] ?? "", /^\d+$/)
    }
    assert.fail("was never refused")
  })

  it.each([
    ["/api/v1/connections", bodyBytes.management],
    ["/api/v1/workflows/wf_1/execute", bodyBytes.execute],
    ["/api/v1/proxy/x", bodyBytes.unified]
  ])("of a body of %s that is too large is readable, which is not read", async (path, limit) => {
    const { token } = await mint()
    const headers = { origin: app, authorization: `Bearer ${token}`, "content-length": String(limit + 1) }
    const answer = await sendOver("POST", path, headers)
    assert.deepStrictEqual([answer.status, corsOf(answer)], [413, readable()])
  })

  it("of a body that becomes too large, or that its sender may not send, is readable", async () => {
    const { sessionId, token } = await mint()
    const headers = { origin: app, authorization: `Bearer ${token}`, "content-type": "application/json" }
    const chunked = { ...headers, "transfer-encoding": "chunked" }
    const large = await sendOver("POST", connections, chunked, bodyBytes.management + 1)
    assert.deepStrictEqual([large.status, corsOf(large)], [413, readable()])
    await end(sessionId)
    const refused = await sendOver("POST", connections, headers, 2 * incomingBody.unrecognisedBytes)
    assert.deepStrictEqual([refused.status, corsOf(refused)], [401, readable()])
  })

  it("of a head that is not accepted is readable", async () => {
    const { token } = await mint()
    const headers = { origin: app, authorization: `Bearer ${token}`, expect: "a miracle" }
    const answer = await sendOver("GET", connections, headers, 0)
    assert.deepStrictEqual([answer.status, corsOf(answer)], [400, readable()])
  })
})

describe("a preflight", () => {
  const asked = { "access-control-request-method": "POST", "access-control-request-headers": "authorization" }
  const allowed = (origin: string) => ({
    "access-control-allow-origin": origin,
    "access-control-allow-methods": "GET, POST, PUT, PATCH, DELETE",
    "access-control-allow-headers": "authorization, content-type, idempotency-key, if-match",
    "access-control-max-age": "600",
    vary: "Origin"
  })

  it.each([connections, "/api/v1/workflows/wf_1/execute", "/api/v1/proxy/x?y=1", "/api/v1/nothing"])(
    "to %s is answered for an origin that a session names",
    async (path) => {
      await mint()
      const answer = await sendOver("OPTIONS", path, { origin: app, ...asked }, 0)
      assert.deepStrictEqual([answer.status, corsOf(answer)], [204, allowed(app)])
      assert.match(answer.headers["x-request-id"] ?? "", /^req_/)
    }
  )

  it.each(["https://unknown.example", `${app}:8443`, "https://APP.example.com", `${app}.`, `${app}, ${app}`, "null"])(
    "of %s is a request like others",
    async (origin) => {
      await mint()
      const known = await svc.ask("OPTIONS", connections, from(origin, asked))
      assert.deepStrictEqual([known.status, known.headers["allow"], corsOf(known)], [405, "GET, POST", unreadable])
      const unknown = await svc.ask("OPTIONS", "/api/v1/nothing", from(origin, asked))
      assert.deepStrictEqual([unknown.status, corsOf(unknown)], [404, unreadable])
    }
  )

  it("is refused a second after the only session that names its origin has ended", async () => {
    const origin = "https://ends.example"
    const { sessionId } = await mint([origin])
    const ask = async () =>
      (await svc.ask("OPTIONS", connections, { ...from(origin, asked), later: "1 second" })).status
    assert.strictEqual(await ask(), 204)
    await end(sessionId)
    assert.strictEqual(
      (await svc.ask("OPTIONS", connections, { ...from(origin, asked), later: "2 seconds" })).status,
      405
    )
  })

  it("needs an origin, a method and a path of the API", async () => {
    await mint()
    const ask = async (target: string, headers: Record<string, string>) => {
      const answer = await svc.ask("OPTIONS", target, { headers })
      return [answer.status, corsOf(answer)]
    }
    assert.deepStrictEqual(await ask(connections, { origin: app }), [405, unreadable])
    assert.deepStrictEqual(await ask(connections, asked), [405, {}])
    assert.deepStrictEqual(await ask("/api/v2/x", { origin: app, ...asked }), [404, {}])
  })

  it("is counted for its address", async () => {
    await mint()
    const ask = { from: "192.0.2.61", ...from(app, asked) }
    // Two minutes may share them.
    for (let n = 0; n <= 2 * publicLimits.perMinute.preflight; n++) {
      const answer = await svc.ask("OPTIONS", connections, ask)
      if (answer.status === 204) continue
      assert.deepStrictEqual([answer.status, corsOf(answer)], [429, unreadable])
      return assert.strictEqual((await svc.ask("OPTIONS", connections, from(app, asked))).status, 204)
    }
    assert.fail("was never refused")
  })
})
