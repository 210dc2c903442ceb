import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Either, Fiber } from "effect"
import { Egress } from "../../src/actors/ports/Egress.js"
import { egressLayer, httpServer, send, textOf } from "./egressServer.js"

const tagOf = (result: Either.Either<unknown, { readonly _tag: string }>) =>
  Either.match(result, { onLeft: (failure) => failure._tag, onRight: () => "answered" })

/** A server that redirects, and one that answers the received request as JSON. */
const echo = () =>
  httpServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://x")
    const to = url.searchParams.get("to")
    if (to !== null) {
      response.writeHead(Number(url.searchParams.get("status") ?? 302), { location: to })
      return response.end("moved")
    }
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () =>
      response.end(
        JSON.stringify({
          method: request.method,
          url: request.url,
          headers: request.headers,
          body: Buffer.concat(chunks).toString()
        })
      )
    )
    return response
  })

const seen = (response: {
  readonly body: Uint8Array
}): { method: string; url: string; headers: Record<string, string>; body: string } => JSON.parse(textOf(response))

describe("nothing connects to an address that is not allowed", () => {
  const forms = (port: number): ReadonlyArray<string> => [
    `http://127.0.0.1:${port}/`,
    `http://2130706433:${port}/`,
    `http://0177.0.0.1:${port}/`,
    `http://0x7f000001:${port}/`,
    `http://0x7f.1:${port}/`,
    `http://127.1:${port}/`,
    `http://127.0.0.1.:${port}/`,
    `http://[::1]:${port}/`,
    `http://[::ffff:127.0.0.1]:${port}/`,
    `http://[::ffff:7f00:1]:${port}/`,
    `http://[::127.0.0.1]:${port}/`,
    `http://[64:ff9b::7f00:1]:${port}/`,
    `http://[2002:7f00:1::]:${port}/`,
    `http://localhost:${port}/`,
    `http://LOCALHOST:${port}/`,
    `http://0.0.0.0:${port}/`,
    `http://0:${port}/`,
    `http://[::]:${port}/`,
    `http://１２７.０.０.１:${port}/`,
    `http://127。0。0。1:${port}/`,
    `https://127.0.0.1:${port}/`,
    "http://169.254.169.254/latest/meta-data/",
    "http://100.64.0.1/",
    "http://[fd00::1]/",
    "http://[fe80::1]/",
    "http://10.0.0.1/",
    "http://192.168.0.1/"
  ]

  it.scoped("whatever the form of the literal or the name", () =>
    Effect.gen(function* () {
      const server = yield* httpServer((_, response) => response.end("secret"))
      const server6 = yield* Effect.option(httpServer((_, response) => response.end("secret"), "::1"))
      const urls = [...forms(server.port), ...(server6._tag === "Some" ? [`http://[::1]:${server6.value.port}/`] : [])]
      for (const url of urls) assert.strictEqual(tagOf(yield* Effect.either(send(url))), "EgressBlocked", url)
      assert.strictEqual(server.connections(), 0)
      if (server6._tag === "Some") assert.strictEqual(server6.value.connections(), 0)
    }).pipe(Effect.provide(egressLayer("203.0.113.7/32")))
  )

  it.scoped("not by a redirect", () =>
    Effect.gen(function* () {
      const inner = yield* httpServer((_, response) => response.end("secret"), "127.0.0.2")
      const server = yield* echo()
      const targets = [
        inner.origin,
        `//127.0.0.2:${inner.port}/`,
        `http://[::ffff:7f00:2]:${inner.port}/`,
        "file:///etc/passwd",
        "ftp://8.8.8.8/",
        "http://u:p@8.8.8.8/"
      ]
      for (const to of targets) {
        const result = yield* Effect.either(send(`${server.origin}/?to=${encodeURIComponent(to)}`, { redirects: 3 }))
        assert.strictEqual(tagOf(result), "EgressBlocked", to)
      }
      assert.strictEqual(inner.connections(), 0)
    }).pipe(Effect.provide(egressLayer("127.0.0.1/32")))
  )

  it.scoped("not by a name that resolves to a public address first and a private one later", () =>
    Effect.gen(function* () {
      const server = yield* httpServer((_, response) => response.end("secret"))
      let asked = 0
      // 127.0.0.3 represents the public address: it is allowed and has no listener.
      const rebinding = () => Promise.resolve(asked++ === 0 ? ["127.0.0.3"] : ["127.0.0.1"])
      const results = yield* Effect.all(
        [1, 2].map(() => Effect.either(send(`http://rebind.example:${server.port}/`)))
      ).pipe(Effect.provide(egressLayer("127.0.0.3/32", rebinding)))
      assert.deepStrictEqual(results.map(tagOf), ["EgressUnreachable", "EgressBlocked"])
      assert.strictEqual(asked, 2, "one look-up per connection: the address that was judged is the one connected to")
      assert.strictEqual(server.connections(), 0)
    })
  )

  it.scoped("only the allowed addresses of several records are tried", () =>
    Effect.gen(function* () {
      const inner = yield* httpServer((_, response) => response.end("secret"))
      const resolve = (name: string) =>
        Promise.resolve(name === "none.example" ? [] : ["10.0.0.1", "127.0.0.1", "::1", "127.0.0.3"])
      const result = yield* Effect.all([
        Effect.either(send(`http://mixed.example:${inner.port}/`)),
        Effect.either(send(`http://none.example:${inner.port}/`))
      ]).pipe(Effect.provide(egressLayer("127.0.0.3/32", resolve)))
      assert.deepStrictEqual(result.map(tagOf), ["EgressUnreachable", "EgressBlocked"])
      assert.strictEqual(inner.connections(), 0)
    })
  )

  it.scoped("other schemes, credentials in the URL and invalid URLs are refused before a request is sent", () =>
    Effect.gen(function* () {
      const egress = yield* Egress
      for (const url of [
        "file:///etc/passwd",
        "ftp://8.8.8.8/",
        "gopher://8.8.8.8",
        "data:,x",
        "ws://8.8.8.8/",
        "http://u:p@8.8.8.8/",
        "/x",
        "",
        "http://",
        "http://[::1",
        "http://127.0.0.1/"
      ]) {
        assert.strictEqual(tagOf(yield* Effect.either(egress.check(url))), "EgressBlocked", url)
        assert.strictEqual(tagOf(yield* Effect.either(send(url))), "EgressBlocked", url)
      }
      yield* egress.check("https://8.8.8.8:8443/x?y=z")
      yield* egress.check("https://example.com/")
    }).pipe(Effect.provide(egressLayer("")))
  )

  it.scoped("an allowed port of an address does not open its other ports", () =>
    Effect.gen(function* () {
      const [open, closed] = [
        yield* httpServer((_, response) => response.end("open")),
        yield* httpServer((_, response) => response.end("secret"))
      ]
      const results = yield* Effect.all([Effect.either(send(open.origin)), Effect.either(send(closed.origin))]).pipe(
        Effect.provide(egressLayer(`127.0.0.1:${open.port}`))
      )
      assert.deepStrictEqual(results.map(tagOf), ["answered", "EgressBlocked"])
      assert.strictEqual(closed.connections(), 0)
    })
  )
})

describe("a request", () => {
  it.scoped("method, path, query, headers and body arrive unchanged", () =>
    Effect.gen(function* () {
      const server = yield* echo()
      const response = yield* send(`${server.origin}/a%20b?q=1#fragment`, {
        method: "patch",
        headers: [
          ["X-Custom", "v"],
          ["x-twice", "1"],
          ["x-twice", "2"]
        ],
        body: new TextEncoder().encode("schön")
      })
      const got = seen(response)
      assert.strictEqual(response.status, 200)
      assert.strictEqual(response.url, `${server.origin}/a%20b?q=1#fragment`)
      assert.deepStrictEqual([got.method, got.url, got.body], ["PATCH", "/a%20b?q=1", "schön"])
      assert.deepStrictEqual(
        [got.headers["x-custom"], got.headers["x-twice"], got.headers["user-agent"]],
        ["v", "1, 2", "svc"]
      )
    }).pipe(Effect.provide(egressLayer()))
  )

  it.scoped("hop-by-hop headers of the caller are dropped", () =>
    Effect.gen(function* () {
      const server = yield* echo()
      const response = yield* send(server.origin, {
        method: "POST",
        body: "12345",
        headers: [
          ["Host", "internal"],
          ["Content-Length", "1"],
          ["Transfer-Encoding", "chunked"],
          ["Connection", "close"],
          ["Expect", "100-continue"],
          ["Proxy-Authorization", "x"]
        ]
      })
      const { headers } = seen(response)
      assert.strictEqual(headers["host"], `127.0.0.1:${server.port}`)
      assert.strictEqual(headers["content-length"], "5")
      for (const name of ["transfer-encoding", "expect", "proxy-authorization"]) assert.isUndefined(headers[name], name)
    }).pipe(Effect.provide(egressLayer()))
  )

  it.scoped("a header or a method that could smuggle a second request is refused", () =>
    Effect.gen(function* () {
      const server = yield* echo()
      const bad: ReadonlyArray<readonly [string, string]> = [
        ["x-a", "1\r\nx-b: 2"],
        ["x-a", "1\nx"],
        ["x-a", "1\rx"],
        ["x-a", "1\u0000"],
        ["x-a", "caf\u0107"],
        ["x a", "1"],
        ["x:a", "1"],
        ["", "1"],
        ["x\r\ny", "1"]
      ]
      for (const header of bad) {
        assert.strictEqual(
          tagOf(yield* Effect.either(send(server.origin, { headers: [header] }))),
          "EgressBlocked",
          JSON.stringify(header)
        )
      }
      for (const method of ["CONNECT", "TRACE", "GET / HTTP/1.1\r\n", ""]) {
        assert.strictEqual(tagOf(yield* Effect.either(send(server.origin, { method }))), "EgressBlocked", method)
      }
      assert.strictEqual(server.connections(), 0)
    }).pipe(Effect.provide(egressLayer()))
  )

  it.scoped("errors have the URL without its query and credentials", () =>
    Effect.gen(function* () {
      const failures = yield* Effect.all([
        Effect.flip(send("http://10.0.0.1/a?api_key=hush")),
        Effect.flip(send("http://user:hush@8.8.8.8/#hush"))
      ])
      assert.deepStrictEqual(
        failures.map((failure) => failure.url),
        ["http://10.0.0.1/a", "http://8.8.8.8/"]
      )
    }).pipe(Effect.provide(egressLayer()))
  )

  it.scoped("connections are kept alive and reused", () =>
    Effect.gen(function* () {
      const server = yield* echo()
      for (let i = 0; i < 20; i++) yield* send(server.origin)
      // undici returns a connection to its pool one turn of the event loop after the answer; an earlier request opens
      // another.
      assert.isAtMost(server.connections(), 2)
    }).pipe(Effect.provide(egressLayer()))
  )

  it.scoped("the interruption of the caller aborts its request", () =>
    Effect.gen(function* () {
      let aborted: () => void = () => undefined
      const gone = new Promise<void>((resolve) => {
        aborted = resolve
      })
      let arrived: () => void = () => undefined
      const there = new Promise<void>((resolve) => {
        arrived = resolve
      })
      const server = yield* httpServer((request) => {
        request.on("close", aborted)
        arrived()
      })
      const fiber = yield* Effect.fork(send(server.origin))
      yield* Effect.promise(() => there)
      yield* Fiber.interrupt(fiber)
      yield* Effect.promise(() => gone).pipe(Effect.timeout(Duration.seconds(2)))
    }).pipe(Effect.provide(egressLayer()))
  )
})

describe("redirects", () => {
  const via = (origin: string, to: string, status: number) => `${origin}/?status=${status}&to=${encodeURIComponent(to)}`

  it.scoped("change the method as HTTP defines", () =>
    Effect.gen(function* () {
      const server = yield* echo()
      const rules: ReadonlyArray<readonly [number, string, string, string]> = [
        [301, "POST", "GET", ""],
        [302, "POST", "GET", ""],
        [303, "POST", "GET", ""],
        [303, "PUT", "GET", ""],
        [301, "PUT", "PUT", "b"],
        [302, "DELETE", "DELETE", "b"],
        [307, "POST", "POST", "b"],
        [308, "PATCH", "PATCH", "b"]
      ]
      for (const [status, method, expected, body] of rules) {
        const got = seen(
          yield* send(via(server.origin, "/end", status), {
            method,
            redirects: 3,
            body: "b",
            headers: [["content-type", "text/plain"]]
          })
        )
        assert.deepStrictEqual([got.url, got.method, got.body], ["/end", expected, body], `${status} ${method}`)
        assert.strictEqual(got.headers["content-type"], body === "" ? undefined : "text/plain")
      }
    }).pipe(Effect.provide(egressLayer()))
  )

  it.scoped("drop every possible credential when the origin changes, and keep it otherwise", () =>
    Effect.gen(function* () {
      const [server, other] = [yield* echo(), yield* echo()]
      const headers: ReadonlyArray<readonly [string, string]> = [
        ["Authorization", "Bearer x"],
        ["Cookie", "a=b"],
        ["X-Shop-Access", "x"],
        ["apikey", "x"],
        ["accept", "text/plain"]
      ]
      const names = headers.map(([name]) => name.toLowerCase())
      const kept = (response: { readonly body: Uint8Array }) =>
        names.filter((name) => seen(response).headers[name] !== undefined)
      assert.deepStrictEqual(
        kept(yield* send(via(server.origin, `${other.origin}/end`, 307), { redirects: 3, headers })),
        ["accept"]
      )
      assert.deepStrictEqual(kept(yield* send(via(server.origin, "/end", 307), { redirects: 3, headers })), names)
      const thereAndBack = via(server.origin, via(other.origin, `${server.origin}/end`, 307), 307)
      assert.deepStrictEqual(kept(yield* send(thereAndBack, { redirects: 3, headers })), ["accept"])
    }).pipe(Effect.provide(egressLayer()))
  )

  it.scoped("are the answer if none may be followed or if they have no location", () =>
    Effect.gen(function* () {
      const server = yield* httpServer((request, response) => {
        response.writeHead(302, request.url === "/nowhere" ? {} : { location: "/x" })
        response.end("body")
      })
      const itself = yield* send(`${server.origin}/x`)
      assert.deepStrictEqual([itself.status, textOf(itself)], [302, "body"])
      assert.strictEqual((yield* send(`${server.origin}/nowhere`, { redirects: 3 })).status, 302)
    }).pipe(Effect.provide(egressLayer()))
  )

  it.scoped("end after three, also if more are requested and in a cycle", () =>
    Effect.gen(function* () {
      let served = 0
      const server = yield* httpServer((_, response) => {
        served++
        response.writeHead(302, { location: "/again" })
        response.end()
      })
      assert.strictEqual(tagOf(yield* Effect.either(send(server.origin, { redirects: 50 }))), "EgressUnreachable")
      assert.strictEqual(served, 4)
    }).pipe(Effect.provide(egressLayer()))
  )
})
