/** Every argument stays in its place in the request, and no URL that a tenant sets reaches a private address. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { eventually } from "../support/eventually.js"
import type { answer } from "../support/misbehavingProvider.js"
import { call, canary, type ProviderWorld, providerWorld } from "../support/providerWorld.js"

let world: ProviderWorld
beforeAll(async () => {
  world = await providerWorld()
})
afterAll(() => world.close())

// --- Places ---

const hostile = [
  "a b",
  "..",
  "../../admin",
  "%2e%2e%2fadmin",
  "..%2f..%2fadmin",
  "%2f",
  "//evil.example/x",
  "\\..\\admin",
  "/etc/passwd",
  "x?admin=1",
  "x#y",
  "x&admin=1",
  "x HTTP/1.1\r\nX-Evil: 1\r\n\r\nGET /admin",
  "x\r\nX-Evil: 1",
  "x\nX-Evil: 1",
  "x\rX-Evil: 1",
  "x\u0000y",
  "x\u2028y",
  "ä/ö",
  "\uff0e\uff0e\uff0fadmin",
  "{{credential.apiKey}}",
  ";type=a",
  "@evil.example",
  ""
]

describe("A value of an argument", () => {
  const requestsOf = async (act: () => Promise<unknown>) => {
    const before = world.systems.requests.length
    await act()
    return world.systems.requests.slice(before).map(({ head }) => head)
  }
  const headerNames = (head: string) =>
    head
      .split("\r\n")
      .slice(1)
      .map((line) => line.split(":")[0]?.toLowerCase())
      .toSorted()

  it("never leaves its place in path, query, header or body, on the wire", async () => {
    await world.publish("places", {
      actions: [
        {
          name: "one",
          request: {
            method: "POST",
            path: "/files/{{args.path}}/meta",
            query: { q: "{{args.query}}", fixed: "1" },
            headers: { "x-note": "{{args.header}}" },
            body: { name: "{{args.body}}" }
          }
        },
        {
          name: "many",
          request: { method: "GET", path: "/tree/{{args.path}}", pathValues: "segments", query: { fixed: "1" } }
        }
      ]
    })
    await world.connected("places", {})
    const [one, many] = [await world.attempt("places", "one"), await world.attempt("places", "many")]
    const plain = { path: "p", query: "q", header: "h", body: "b" }
    const [usual = ""] = await requestsOf(() => world.run(one, { args: JSON.stringify(plain) }))
    assert.match(usual, /^POST \/files\/p\/meta\?q=q&fixed=1 HTTP\/1\.1\r\n/)
    let sent = 0
    for (const value of hostile)
      for (const place of ["path", "query", "header", "body"] as const) {
        const what = `${place} ${JSON.stringify(value)}`
        const heads = await requestsOf(async () => {
          const { body } = await world.run(one, { args: JSON.stringify({ ...plain, [place]: value }) })
          assert.isTrue(
            body.result !== undefined || body.code === "INVALID_ARGUMENTS",
            `${what}: ${JSON.stringify(body)}`
          )
          if (body.result === undefined) assert.include(body.message, place, what)
        })
        if (heads.length === 0) continue
        sent++
        assert.lengthOf(heads, 1, what)
        const [head = ""] = heads
        const [line = ""] = head.split("\r\n")
        const found = /^POST \/files\/([^/?#\\ ]+)\/meta\?q=([^&# ]*)&fixed=1 HTTP\/1\.1$/.exec(line)
        assert.isNotNull(found, `${what}: ${line}`)
        assert.deepStrictEqual(headerNames(head), headerNames(usual), what)
        const arrived = {
          path: decodeURIComponent(found?.[1] ?? ""),
          query: decodeURIComponent(found?.[2] ?? ""),
          header: /\r\nx-note: ([^\r\n]*)/i.exec(head)?.[1] ?? ""
        }
        if (place !== "body") assert.strictEqual(arrived[place], value, what)
        assert.match(head, new RegExp(`\r\nx-acme-key: ${canary}(?:\r\n|$)`), what)
      }
    assert.isAbove(sent, hostile.length)
    for (const path of hostile) {
      const heads = await requestsOf(() => world.run(many, { args: JSON.stringify({ path }) }))
      for (const head of heads) {
        const [, target = ""] = head.split(" ")
        assert.match(target, /^\/tree\/[^?#\\]+\?fixed=1$/, path)
        assert.strictEqual(new URL(target, "http://x").pathname.split("/")[1], "tree", path)
        assert.notMatch(target, /(?:^|\/)(?:\.|%2e){1,2}(?:\/|\?|$)|\/\//i, path)
      }
    }
  })

  it("never leaves its place in a URL that contains the connection's config", async () => {
    await world.publish("tenanted", {
      baseUrl: "https://{{connection.config.shop}}.svc-test.invalid/{{connection.config.base}}",
      connectionConfig: { type: "object", properties: { base: { type: "string" }, shop: { type: "string" } } },
      actions: [{ name: "call", request: { method: "GET", path: "/x" }, timeoutMs: 5_000 }]
    })
    const id = await world.attempt("tenanted")
    const shops = [
      `127.0.0.1:${world.inner.port}/`,
      `127.0.0.1:${world.inner.port}#`,
      `127.0.0.1:${world.inner.port}?`,
      `127.0.0.1:${world.inner.port}\\`,
      `x@127.0.0.1:${world.inner.port}/`,
      "a\r\nHost: x",
      "a..b",
      "[::1]",
      ""
    ]
    for (const [at, shop] of shops.entries()) {
      await world.connect("tenanted", { base: "v1", shop }, { label: `s${at}` })
      const { body } = await world.run(id, { opts: { connection: `s${at}`, retry: false } })
      assert.include(["INVALID_ARGUMENTS", "CONNECTION_REQUIRED"], body.code, `${shop}: ${JSON.stringify(body)}`)
    }
    assert.strictEqual(world.inner.connections(), 0)
  })
})

// --- Private addresses ---

describe("A URL that a tenant sets", () => {
  /** Every way to write an address of the machine itself, or one that only the machine can reach. */
  const urls = () => {
    const { port } = world.inner
    return [
      `http://127.0.0.1:${port}`,
      `http://localhost:${port}`,
      `http://LOCALHOST.:${port}`,
      `http://127.1:${port}`,
      `http://2130706433:${port}`,
      `http://0x7f000001:${port}`,
      `http://0177.0.0.1:${port}`,
      `http://0.0.0.0:${port}`,
      `http://[::1]:${port}`,
      `http://[::]:${port}`,
      `http://[::ffff:127.0.0.1]:${port}`,
      `http://[::ffff:7f00:1]:${port}`,
      `http://[64:ff9b::7f00:1]:${port}`,
      `http://[2002:7f00:1::]:${port}`,
      `http://①②⑦.0.0.1:${port}`,
      `https://127.0.0.1:${port}`,
      "http://169.254.169.254/latest/meta-data",
      "http://10.0.0.1",
      "http://[fd00::1]",
      `http://user:pass@127.0.0.1:${port}`,
      `ftp://127.0.0.1:${port}`,
      "file:///etc/passwd",
      `gopher://127.0.0.1:${port}/_x`,
      `//127.0.0.1:${port}`,
      ""
    ]
  }

  it("reaches nothing private as the base URL, in a call or in the connection's test", async () => {
    await world.publish("based", {
      actions: [{ name: "call", request: { method: "GET", path: "/x" }, timeoutMs: 3_000 }]
    })
    await world.publish("basedtest", {
      actions: [{ name: "call", request: { method: "GET", path: "/x" }, timeoutMs: 3_000 }],
      test: { action: "call" }
    })
    const id = await world.attempt("based")
    const ended = await Promise.all(
      urls().map(async (base, at) => {
        const made = await world.connect("based", { base }, { label: `u${at}` })
        const { body } = await world.run(id, { opts: { connection: `u${at}`, retry: false } })
        const tested = await world.connect("basedtest", { base })
        return { base, made, body, tested }
      })
    )
    for (const { base, body, made, tested } of ended) {
      // Not every resolver resolves a name with a final dot to the machine itself.
      const known = base.includes("LOCALHOST.") ? ["BLOCKED", "UNREACHABLE"] : ["BLOCKED", "INVALID_ARGUMENTS"]
      const codes = made.status === 201 ? known : ["CONNECTION_REQUIRED"]
      assert.include(codes, body.code, `${base}: ${JSON.stringify(body)}`)
      assert.strictEqual(tested.status, 422, `${base}: ${tested.text}`)
    }
    assert.strictEqual(world.inner.connections(), 0)
  })

  it("reaches nothing private as the origin of one action", async () => {
    const origins = [
      `https://127.0.0.1:${world.inner.port}`,
      "https://169.254.169.254",
      `https://localhost:${world.inner.port}`
    ]
    for (const [at, origin] of origins.entries()) {
      const slug = `origin${at}`
      await world.publish(slug, { actions: [{ name: "call", request: { method: "GET", path: `${origin}/x` } }] })
      await world.connected(slug, {})
      const { body } = await world.run(await world.attempt(slug), { opts: { retry: false } })
      assert.strictEqual(body.code, "BLOCKED", `${origin}: ${JSON.stringify(body)}`)
    }
    assert.strictEqual(world.inner.connections(), 0)
  })

  it("reaches nothing private as token, authorization or revocation URL", async () => {
    const oauth = (id: string, more: object) => ({
      id,
      type: "oauth2",
      tokenUrl: "{{connection.config.base}}/token",
      clientId: "c",
      clientSecret: "canary-client-secret",
      ...more
    })
    const authorizationUrl = "{{connection.config.base}}/authorize"
    await world.publish("granted", {
      auth: [
        oauth("machine", { grant: "client_credentials" }),
        oauth("person", { authorizationUrl, revocationUrl: "{{connection.config.base}}/revoke" })
      ],
      actions: [call]
    })
    for (const base of urls()) {
      const machine = await world.connect("granted", { base }, { authMethod: "machine", credential: {} })
      assert.strictEqual(machine.status, 422, `${base}: ${machine.text}`)
      assert.notInclude(machine.text, "canary")
      const credential = { accessToken: "a-token-of-before", refreshToken: "r-token", expiresIn: "3600" }
      const person = await world.connect("granted", { base }, { authMethod: "person", credential, scope: "customer" })
      if (person.status !== 201) continue
      const refreshed = await world.ask("POST", `/api/v1/connections/${person.body.data.id}/refresh`)
      assert.notStrictEqual(refreshed.status, 200, base)
      const gone = await world.ask("DELETE", `/api/v1/connections/${person.body.data.id}`)
      assert.strictEqual(gone.status, 200, base)
    }
    // With an allowed address the same steps do send the requests.
    const before = world.elsewhere.connections()
    const allowed = await world.connect(
      "granted",
      { base: world.elsewhere.url },
      { authMethod: "person", credential: { accessToken: "t", refreshToken: "r" } }
    )
    await world.ask("DELETE", `/api/v1/connections/${allowed.body.data.id}`)
    await eventually(
      async () => world.elsewhere.requests.some(({ head }) => head.startsWith("POST /revoke ")),
      (found) => found
    )
    assert.isAbove(world.elsewhere.connections(), before)
    assert.strictEqual(world.inner.connections(), 0)
  })

  it("reaches nothing private as the document of an import", async () => {
    for (const url of urls()) {
      const made = await world.ask("POST", "/api/v1/connectors", {
        import: { format: "openapi", source: `${url}/openapi.json` }
      })
      assert.strictEqual(made.status, 422, `${url}: ${made.text}`)
    }
    world.scripts.set(
      "/openapi.json",
      (socket) =>
        void socket.write(`HTTP/1.1 302 X\r\nlocation: ${world.inner.url}/openapi.json\r\ncontent-length: 0\r\n\r\n`)
    )
    const led = await world.ask("POST", "/api/v1/connectors", {
      import: { format: "openapi", source: `${world.systems.url}/openapi.json` }
    })
    assert.deepInclude(led.body.details?.[0], { code: "URL_NOT_ALLOWED" }, led.text)
    assert.strictEqual(world.inner.connections(), 0)
  })

  it("reaches nothing private by a redirect, and no other origin gets the credential by one", async () => {
    const to = (location: string) => (socket: Parameters<typeof answer>[0]) =>
      void socket.write(`HTTP/1.1 307 X\r\nlocation: ${location}\r\ncontent-length: 0\r\n\r\n`)
    world.scripts.set("/inwards", to(`${world.inner.url}/x`))
    world.scripts.set("/metadata", to("http://169.254.169.254/latest"))
    world.scripts.set("/file", to("file:///etc/passwd"))
    world.scripts.set("/outwards", to(`${world.elsewhere.url}/landed`))
    world.scripts.set("/within", to("/landed"))
    await world.publish("header", { actions: [call] })
    await world.publish("query", {
      auth: [{ id: "key", type: "api_key", inject: [{ in: "query", name: "key", value: "{{credential.apiKey}}" }] }],
      actions: [call]
    })
    for (const how of ["inwards", "metadata", "file", "outwards", "within"]) {
      await world.connected("header", { how }, { label: how })
      await world.connected("query", { how }, { label: how })
    }
    const [header, query] = [await world.attempt("header"), await world.attempt("query")]
    for (const how of ["inwards", "metadata", "file"]) {
      const opts = { connection: how, retry: false }
      assert.strictEqual((await world.run(header, { opts })).body.code, "BLOCKED", how)
      assert.strictEqual((await world.run(query, { opts })).body.status, 307, how)
    }
    const landed = world.elsewhere.requests.length
    assert.deepStrictEqual((await world.run(header, { opts: { connection: "outwards" } })).body.result, { ok: true })
    assert.strictEqual((await world.run(query, { opts: { connection: "outwards" } })).body.status, 307)
    const [only, ...more] = world.elsewhere.requests.slice(landed)
    assert.isEmpty(more)
    assert.match(only?.head ?? "", /^GET \/landed /)
    assert.notInclude(only?.head ?? "", "canary")
    // On its own origin the request is unchanged.
    assert.strictEqual((await world.run(header, { opts: { connection: "within" } })).body.result?.ok, true)
    const followed = world.systems.requests.find(({ head }) => head.startsWith("GET /landed "))
    assert.include(followed?.head ?? "", `x-acme-key: ${canary}`)
    assert.strictEqual(world.inner.connections(), 0)
  })
})
