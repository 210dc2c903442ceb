/** Values that Postgres cannot store are refused when they are decoded; names may be in any script. */
import { createHash } from "node:crypto"
import { gunzipSync } from "node:zlib"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { JSDOM } from "jsdom"
import type { Answer, Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"

let svc: Running
beforeAll(async () => {
  svc = await startShared()
})
afterAll(() => svc.stop())

const ask = (method: string, target: string, body?: unknown, headers: { readonly [name: string]: string } = {}) =>
  svc.ask(method, target, {
    headers: { authorization: `Bearer ${svc.first.key}`, "content-type": "application/json", ...headers },
    ...(body === undefined ? {} : { raw: typeof body === "string" ? body : JSON.stringify(body) })
  })

describe("a time", () => {
  it.each(["0000-01-01T00:00:00Z", "99999-01-01T00:00:00Z", "+099999-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59"])(
    "of %s is refused as a bound of a list",
    async (time) => {
      for (const name of ["created_after", "created_before", "from", "to"]) {
        for (const path of ["customers", "executions", "audit", "workflows", "connections"]) {
          const answer = await ask("GET", `/api/v1/${path}?${name}=${encodeURIComponent(time)}`)
          assert.deepStrictEqual([answer.status, answer.body.code], [400, "INVALID_REQUEST"], answer.text)
        }
      }
    }
  )

  it("of a key's expiry is before the year 10000", async () => {
    const answer = await ask("POST", "/api/v1/api-keys", { name: "k", expires: "9999-12-31T23:59:59-23:59" })
    assert.strictEqual(answer.status, 422, answer.text)
  })
})

describe("an Idempotency-Key", () => {
  it("works with a query of any length, and still distinguishes requests", async () => {
    const long = (end: string) => `/api/v1/customers?x=${"y".repeat(9_000)}${end}`
    const headers = { "idempotency-key": "long" }
    const first = await ask("POST", long("a"), { name: "Long" }, headers)
    assert.strictEqual(first.status, 201, first.text)
    const again = await ask("POST", long("a"), { name: "Long" }, headers)
    assert.deepStrictEqual([again.status, again.headers["idempotent-replayed"]], [201, "true"])
    const other = await ask("POST", long("b"), { name: "Long" }, headers)
    assert.notStrictEqual(other.body.data.id, first.body.data.id)
    const execute = `/api/v1/workflows/${svc.first.workflowId}/execute?x=${"y".repeat(9_000)}`
    assert.strictEqual((await ask("POST", execute, { input: {} }, headers)).status, 200)
  })
})

describe("a workflow", () => {
  it("is not published at an impossible version", async () => {
    const target = `/api/v1/workflows/${svc.first.workflowId}/publish`
    const answer = await ask("POST", target, { version: 1_099_511_627_776 })
    assert.deepStrictEqual([answer.status, answer.body.details[0].path], [422, "version"], answer.text)
  })

  it("whose code has text that cannot be stored is refused, or stored like any other", async () => {
    const codes = [
      "export default async function () { return 'a\\u0000' }",
      "export default async function (ctx) { return svc.step('a\\u0000', () => 1) }",
      "export default async function (ctx) { return svc.connectors['a\\u0000'].run({}) }",
      "export default async function (ctx) { return svc.connector('a\\u0000').run({}) }",
      "export default async function (ctx) { return svc.connectors.acme['\\ud800']({}) }"
    ]
    for (const [at, code] of codes.entries()) {
      const body = { name: `nul_${at}`, form: "code", tier: "instant", code }
      const answer = await ask("POST", "/api/v1/workflows", body)
      assert.oneOf(answer.status, [201, 422], answer.text)
    }
  })
})

describe("a customer", () => {
  it("of a name in any script, or of a name that another has, gets a slug of its own", async () => {
    const names = [
      "\u65e5\u672c\u8a9e",
      "\u041c\u043e\u0441\u043a\u0432\u0430",
      "\u{1f389}",
      "Caf\u00e9",
      "Cafe",
      "cafe!"
    ]
    const slugs: Array<string> = []
    for (const name of names) {
      const made = await ask("POST", "/api/v1/customers", { name })
      assert.strictEqual(made.status, 201, made.text)
      assert.match(made.body.data.slug, /^[a-z0-9][a-z0-9-]{0,62}$/)
      slugs.push(made.body.data.slug)
    }
    assert.strictEqual(new Set(slugs).size, names.length)
    assert.strictEqual(slugs[3], "cafe")
    const asked = await ask("POST", "/api/v1/customers", { name: "Another", slug: "cafe" })
    assert.strictEqual(asked.status, 409)
  })

  it("may have members like __proto__, and none is dropped silently", async () => {
    const kept = await ask(
      "POST",
      "/api/v1/customers",
      '{"name":"Kept","metadata":{"constructor":{"a":1},"toString":2}}'
    )
    assert.deepStrictEqual(kept.body.data.metadata, { constructor: { a: 1 }, toString: 2 })
    for (const inside of ['{"__proto__":{"a":1}}', '{"deep":[{"__proto__":1}]}', '{"\\u005f_proto__":1}']) {
      const answer = await ask("POST", "/api/v1/customers", `{"name":"Dropped","metadata":${inside}}`)
      assert.deepStrictEqual([answer.status, answer.body.details[0].code], [422, "NOT_STORABLE"], answer.text)
      assert.match(answer.body.details[0].path, /^metadata\..*__proto__$/)
    }
  })
})

describe("/docs", () => {
  /** Every page, by its path. */
  const readPages = async () => {
    const pages = new Map<string, Answer>()
    const toRead = ["/docs"]
    for (let path = toRead.pop(); path !== undefined; path = toRead.pop()) {
      if (pages.has(path)) continue
      const page = await svc.ask("GET", path)
      pages.set(path, page)
      for (const [, to = ""] of page.text.matchAll(/href="(\/docs[^"#]*)/g)) toRead.push(to)
    }
    return pages
  }

  it("runs no script but the search, and neither sends nor loads anything elsewhere", async () => {
    const hash = (text: string, element: string) => {
      const [, inside] = new RegExp(`<${element}>([\\s\\S]*?)</${element}>`).exec(text) ?? []
      return inside === undefined
        ? ""
        : ` ${element}-src 'sha256-${createHash("sha256").update(inside).digest("base64")}';`
    }
    for (const [path, { headers, text }] of await readPages()) {
      const own = `${hash(text, "style")}${hash(text, "script")}`
      assert.strictEqual(
        headers["content-security-policy"],
        `default-src 'none';${own} form-action 'self'; frame-ancestors 'none'; base-uri 'none'`
      )
      assert.strictEqual(text.includes("<script>"), path === "/docs")
      assert.strictEqual(headers["x-frame-options"], "DENY")
      assert.notMatch(text, /<img|<link|<script |style=|src=|url\(|action="(?!\/docs")/)
    }
  })

  it("has each operation and schema once, and no broken links, in at most 100 KB a page", async () => {
    const pages = await readPages()
    const { body } = await svc.ask("GET", "/api/v1/openapi.json")
    const anchors = new Map(
      [...pages].map(([path, { text }]) => [path, [...text.matchAll(/ id="([^"]*)"/g)].map(([, id = ""]) => id)])
    )
    const ids = [...anchors.values()].flat().filter((id) => id !== "q")
    const operations = Object.values<object>(body.paths).flatMap((item) => Object.values(item))
    assert.isAtLeast(operations.length, 80)
    assert.deepStrictEqual(ids.sort(), ["found", ...operations.map(({ operationId }) => operationId)].sort())
    assert.includeMembers(
      [...pages.keys()],
      Object.keys(body.components.schemas).map((name) => `/docs/schemas/${name}`)
    )
    for (const [path, { status, text }] of pages) {
      assert.strictEqual(status, 200, path)
      assert.isAtMost(Buffer.byteLength(text), 100_000, path)
      for (const [, to = ""] of text.matchAll(/href="([^"]*)"/g)) {
        const [page = "", anchor] = to.split("#")
        if (anchor !== undefined) assert.include(anchors.get(page === "" ? path : page) ?? [], anchor, to)
        else if (!pages.has(page)) assert.strictEqual((await svc.ask("GET", to)).status, 200, to)
      }
    }
  })

  it("finds operations by words of their line, without another host", async () => {
    const { text } = await svc.ask("GET", "/docs")
    const { window } = new JSDOM(text, { runScripts: "outside-only", url: "http://svc.test/docs?q=secret%20rotate" })
    window.eval(/<script>([\s\S]*?)<\/script>/.exec(text)?.[1] ?? "")
    const shown =
      'JSON.stringify([...document.querySelectorAll("[data-operation]:not([hidden])")].map((row) => row.textContent.trim()))'
    const found: ReadonlyArray<string> = JSON.parse(String(window.eval(shown)))
    assert.isAbove(found.length, 0)
    for (const row of found) assert.match(row, /secret[\s\S]*rotate|rotate[\s\S]*secret/i)
    window.close()
  })

  it("is sent compressed if the client accepts that", async () => {
    const plain = await svc.ask("GET", "/docs")
    const sent = await svc.send({
      method: "GET",
      target: "/docs",
      headers: { "accept-encoding": "br, gzip;q=0.8" },
      remoteAddress: "127.0.0.1",
      body: Buffer.alloc(0)
    })
    assert.deepStrictEqual([sent.headers["content-encoding"], sent.headers["vary"]], ["gzip", "accept-encoding"])
    if (!(sent.body instanceof Uint8Array)) throw new Error("the body is not compressed")
    assert.isBelow(sent.body.length * 5, plain.text.length)
    assert.strictEqual(gunzipSync(sent.body).toString(), plain.text)
    const refused = await svc.ask("GET", "/docs", { headers: { "accept-encoding": "gzip;q=0" } })
    assert.isUndefined(refused.headers["content-encoding"])
  })
})
