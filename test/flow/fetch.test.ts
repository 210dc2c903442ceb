/** What `fetch` sends, and what of a request that cannot be sent a workflow is told. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { run, startSharedCalls, stopCalls, workflow } from "../support/calls.js"

const received: Array<Pick<IncomingMessage, "method" | "url" | "rawHeaders">> = []
const receiver = createServer((request, response) => {
  received.push({ method: request.method, url: request.url, rawHeaders: request.rawHeaders })
  if (request.url === "/moved") response.writeHead(302, { location: "/" })
  if (request.url?.startsWith("/kept") === true) response.writeHead(307, { location: "/" })
  if (request.url === "/nowhere") response.writeHead(303)
  response.end(request.url === "/marked" ? '\ufeff{"a":"é"}' : "ok")
})
const receiverPort = () => (receiver.address() as AddressInfo).port

beforeAll(async () => {
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve))
  await startSharedCalls()
})
afterAll(async () => {
  await stopCalls()
  receiver.closeAllConnections()
  receiver.close()
})

const result = async (body: string) => {
  received.length = 0
  const { body: answer, status } = await run(await workflow(body), { port: receiverPort() })
  assert.strictEqual(status, 200, JSON.stringify(answer))
  return answer
}
/** The headers of the last request, without those of the connection. */
const sentHeaders = () => {
  const pairs: Array<readonly [string, string]> = []
  const raw = received.at(-1)?.rawHeaders ?? []
  for (let i = 0; i < raw.length; i += 2)
    if (!/^(?:host|connection|content-length|user-agent|idempotency-key|traceparent)$/i.test(raw[i] ?? ""))
      pairs.push([raw[i] ?? "", raw[i + 1] ?? ""])
  return pairs
}

describe("fetch", () => {
  it("sends the URL as the standard writes it", async () => {
    await result("await fetch('HTTP://127.0.0.1:' + ctx.input.port + '/a b/../ü?q=ö#part'); return 1")
    assert.deepInclude(received[0], { method: "GET", url: "/%C3%BC?q=%C3%B6" })
    await result("await fetch(new URL('/x/./y', 'http://127.0.0.1:' + ctx.input.port)); return 1")
    assert.deepInclude(received[0], { url: "/x/y" })
    await result("await fetch(new Request('http://127.0.0.1:' + ctx.input.port + '/r', { method: 'put' })); return 1")
    assert.deepInclude(received[0], { method: "PUT", url: "/r" })
  })

  it("sends headers in lower case, trimmed, and equal names as one", async () => {
    const send = (headers: string) =>
      result(
        `await fetch("http://127.0.0.1:" + ctx.input.port, { method: "POST", headers: ${headers}, body: "{}" }); return 1`
      )
    await send(`{ "X-One": " 1 ", "x-one": "2", Accept: "a" }`)
    const expected = [
      ["x-one", "1, 2"],
      ["accept", "a"],
      ["content-type", "text/plain;charset=UTF-8"]
    ]
    assert.deepStrictEqual(sentHeaders(), expected as never)
    await send(`[["X-One", "1"], ["X-ONE", "2"], ["Accept", "a"]]`)
    assert.deepStrictEqual(sentHeaders(), expected as never)
    await send(`new Headers({ "Content-Type": "application/json" })`)
    assert.deepStrictEqual(sentHeaders(), [["content-type", "application/json"]])
  })

  it("gives text and JSON without a byte order mark, and bytes with it", async () => {
    const found = await result(`
      const answer = () => fetch("http://127.0.0.1:" + ctx.input.port + "/marked")
      const [json, text, bytes, copy] = [await answer(), await answer(), await answer(), (await answer()).clone()]
      return [await json.json(), await text.text(), [...(await bytes.bytes()).slice(0, 4)], await copy.json()]`)
    assert.deepStrictEqual(found, [{ a: "é" }, '{"a":"é"}', [0xef, 0xbb, 0xbf, 0x7b], { a: "é" }])
  })

  it("tells a workflow what it cannot send, and goes on", async () => {
    const told = await result(`
      const told = []
      const attempt = async (...args) => { try { await fetch(...args); told.push("sent") } catch (e) { told.push(e instanceof TypeError, e.message) } }
      const url = "http://127.0.0.1:" + ctx.input.port
      await attempt("/relative"); await attempt(""); await attempt(url, { headers: { "a b": "c" } })
      await attempt(url, { headers: { a: "b\\nc: d" } }); await attempt(url, { body: "x" }); await attempt(Symbol("s"))
      return told`)
    assert.deepStrictEqual(received, [])
    assert.deepStrictEqual(
      told.map((one: unknown) => (typeof one === "string" ? one.replace(/^fetch:? ?/, "") : one)),
      [
        true,
        'takes an absolute URL, not "/relative"',
        true,
        'takes an absolute URL, not ""',
        true,
        "not a header name: a b",
        true,
        "a header's value is one line",
        true,
        "a GET request has no body",
        true,
        'takes an absolute URL, not "Symbol(s)"'
      ]
    )
  })

  it("refuses a URL or headers beyond their limit", async () => {
    const told = await result(`
      const told = []
      const attempt = async (...args) => { try { await fetch(...args); told.push("sent") } catch (e) { told.push(e.name) } }
      const url = "http://127.0.0.1:" + ctx.input.port
      await attempt(url + "/" + "a".repeat(70_000)); await attempt(url, { headers: { a: "b" + " ".repeat(3_000_000) + "c" } })
      await attempt(url, { headers: Array.from({ length: 40_000 }, (_, n) => ["h" + n, ""]) })
      return told`)
    assert.deepStrictEqual(told, ["RangeError", "RangeError", "RangeError"])
    assert.deepStrictEqual(received, [])
  })

  it("says where the answer came from", async () => {
    const url = "'http://127.0.0.1:' + ctx.input.port"
    const form = "[r.redirected, new URL(r.url).pathname, r.ok, r.type, r.statusText, r.headers instanceof Headers]"
    assert.deepStrictEqual(await result(`const r = await fetch(${url}); return ${form}`), [
      false,
      "/",
      true,
      "basic",
      "",
      true
    ])
    assert.deepInclude(await result(`const r = await fetch(${url} + "/moved"); return ${form}`), true)
    assert.deepStrictEqual(
      await result(`const r = (await fetch(${url})).clone(); return [await r.text(), r.url === ${url} + "/"]`),
      ["ok", true]
    )
  })

  it("follows no redirect when the workflow says so, and fails with a code", async () => {
    const told = await result(`
      const told = []
      const url = "http://127.0.0.1:" + ctx.input.port
      const form = (r) => r.status + (r.redirected ? " redirected" : "")
      const attempt = (input, init) => fetch(input, init).then((r) => told.push(form(r)), (e) => told.push(e.name + " " + e.code + " " + e.message.replace(url, "")))
      const order = { method: "POST", body: "order" }
      for (const redirect of ["error", "manual", "follow"]) {
        await attempt(url + "/kept?key=k", { ...order, redirect })
        await attempt(new Request(url + "/moved", { redirect }))
        await attempt(new Request(url + "/moved"), { redirect })
      }
      await attempt(url + "/nowhere", { redirect: "error" })
      await attempt(url, { redirect: "error" })
      return told`)
    const redirects = (path: string) => `TypeError REDIRECTED fetch: ${path} redirects, and redirect is "error"`
    assert.deepStrictEqual(told, [
      redirects("/kept"),
      redirects("/moved"),
      redirects("/moved"),
      "307",
      "302",
      "302",
      "200 redirected",
      "200 redirected",
      "200 redirected",
      redirects("/nowhere"),
      "200"
    ])
    const followed = ["/kept?key=k", "/", "/moved", "/", "/moved", "/"]
    const refused = followed.filter((path) => path !== "/")
    assert.deepStrictEqual(
      received.map(({ url }) => url),
      [...refused, ...refused, ...followed, "/nowhere", "/"]
    )
  })

  it("asks caches on the way as the option cache says", async () => {
    const past = [
      ["pragma", "no-cache"],
      ["cache-control", "no-cache"]
    ]
    const expected = { "no-store": past, reload: past, "no-cache": [["cache-control", "max-age=0"]], default: [] }
    for (const [cache, headers] of [...Object.entries(expected), ["force-cache", []] as const])
      for (const form of [`fetch(url, { cache: "${cache}" })`, `fetch(new Request(url, { cache: "${cache}" }))`]) {
        await result(`const url = "http://127.0.0.1:" + ctx.input.port; await ${form}; return 1`)
        assert.deepStrictEqual(sentHeaders(), headers as never, form)
      }
    await result(`
      const headers = { "Cache-Control": "max-age=5" }
      await fetch("http://127.0.0.1:" + ctx.input.port, { headers, cache: "reload" }); return 1`)
    assert.deepStrictEqual(sentHeaders(), [
      ["cache-control", "max-age=5"],
      ["pragma", "no-cache"]
    ])
  })

  it("refuses options that it would not obey, and sends nothing", async () => {
    const told = await result(`
      const told = []
      const url = "http://127.0.0.1:" + ctx.input.port
      for (const init of [{ redirect: "none" }, { redirect: Symbol("s") }, { cache: "only-if-cached" }, { cache: "never" }, { integrity: "sha256-x" }]) {
        await fetch(url, init).then(() => told.push("sent"), (e) => told.push(e instanceof TypeError))
        await fetch(new Request(url, init)).then(() => told.push("sent"), (e) => told.push(e instanceof TypeError))
      }
      return told`)
    assert.deepStrictEqual(
      told,
      Array.from({ length: 10 }, () => true)
    )
    assert.deepStrictEqual(received, [])
  })

  it("takes no signal from a request when the options have none", async () => {
    const told = await result(`
      const request = new Request("http://127.0.0.1:" + ctx.input.port, { signal: AbortSignal.abort() })
      const told = [await fetch(request).catch((e) => e.name)]
      told.push((await fetch(request, { signal: null })).status)
      return told`)
    assert.deepStrictEqual(told, ["AbortError", 200])
  })
})
