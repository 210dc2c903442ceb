/** Answers through the proxy stream, within a cap, without the credential, and end when their caller disconnects. */
import { request as ask, type IncomingMessage } from "node:http"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { svc } from "../support/calls.js"
import { eventually } from "../support/eventually.js"
import { type FlowingProvider, startFlowingProvider } from "../support/flowingProvider.js"

const canary = "canary/of+the=stream"
const MiB = 1024 * 1024
let provider: FlowingProvider

beforeAll(async () => {
  provider = await startFlowingProvider("flowing", canary)
})
afterAll(() => provider.close())

interface Received {
  readonly status: number
  readonly body: IncomingMessage
}

const through = (path: string, signal?: AbortSignal, method = "GET") =>
  new Promise<Received>((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${svc.first.key}`,
      "x-svc-connector": "flowing",
      "x-org-id": svc.first.customerId
    }
    ask({
      port: provider.port,
      method,
      path: `/api/v1/proxy${path}`,
      headers,
      ...(signal === undefined ? {} : { signal })
    })
      .once("response", (body) => resolve({ status: body.statusCode ?? 0, body }))
      .once("error", reject)
      .end()
  })

/** The received text, and whether it is complete. */
const rest = async (body: IncomingMessage) => {
  const pieces: Array<Buffer> = []
  try {
    for await (const piece of body) pieces.push(piece)
    return { text: Buffer.concat(pieces).toString(), whole: body.complete }
  } catch {
    return { text: Buffer.concat(pieces).toString(), whole: false }
  }
}
describe("An answer through the proxy", () => {
  it("reaches its caller with the first byte, before the provider has sent the last", async () => {
    let finish = () => {}
    provider.scripts.set("/slow", (_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).write("data: 1\n\n")
      finish = () => void response.end("data: 2\n\n")
    })
    const { body, status } = await through("/slow")
    const first = await new Promise<Buffer>((resolve) => body.once("data", resolve))
    assert.deepStrictEqual([status, first.toString()], [200, "data: 1\n\n"])
    finish()
    assert.deepStrictEqual(await rest(body), { text: "data: 2\n\n", whole: true })
  })

  it("never contains the credential, wherever its chunks are split", async () => {
    const written = `a ${canary} b ${Buffer.from(`user:${canary}`).toString("base64")} c ${encodeURIComponent(canary)} d`
    provider.scripts.set("/echo", async (_, response) => {
      response.writeHead(200, { "x-echo": canary })
      for (const letter of written) {
        response.write(letter)
        await new Promise((resolve) => setImmediate(resolve))
      }
      response.end()
    })
    const { body } = await through("/echo")
    assert.strictEqual(body.headers["x-echo"], "[redacted]")
    const { text, whole } = await rest(body)
    assert.isTrue(whole)
    assert.match(text, /^a \[redacted\] b [\w+/=]*\[redacted\][\w+/=]* c \[redacted\] d$/)
  })

  it("above the cap is refused if its length is known, and else breaks off, however slowly it arrives", async () => {
    provider.scripts.set(
      "/announced",
      (_, response) => void response.writeHead(200, { "content-length": 7 * MiB }).write("x")
    )
    assert.strictEqual((await through("/announced")).status, 502)
    let sent = 0
    provider.scripts.set("/endless", (_, response) => {
      const more = () => {
        if (response.destroyed || sent >= 50 * MiB) return
        sent += 256 * 1024
        response.write(Buffer.alloc(256 * 1024, "x"))
        setTimeout(more, 2)
      }
      more()
    })
    const { body, status } = await through("/endless")
    const { text, whole } = await rest(body)
    assert.deepStrictEqual([status, whole], [200, false])
    assert.isAtMost(text.length, 6 * MiB)
    assert.isAbove(text.length, 5 * MiB)
    assert.isBelow(sent, 20 * MiB)
    await provider.nothingOpen()
  })

  it("that its caller reads late arrives whole, beside others", async () => {
    let sent = 0
    provider.scripts.set("/full", (_, response) => {
      const piece = Buffer.alloc(64 * 1024)
      let left = 96
      const more = () => {
        while (left > 0) {
          left -= 1
          sent += piece.length
          if (!response.write(piece)) return void response.once("drain", more)
        }
        response.end()
      }
      more()
    })
    const answers = await Promise.all(Array.from({ length: 9 }, () => through("/full")))
    for (const { body } of answers) assert.isTrue((await rest(body)).whole)
    assert.strictEqual(sent, 9 * 6 * MiB)
  })

  it("breaks off with its provider, and is not retried after its first byte", async () => {
    provider.scripts.set("/halfway", (_, response) => {
      response.write("half")
      setTimeout(() => response.destroy(), 20)
    })
    const { body, status } = await through("/halfway")
    assert.deepStrictEqual([status, await rest(body)], [200, { text: "half", whole: false }])
    assert.strictEqual(provider.asked.get("/halfway"), 1)
  })

  it("is retried before its first byte, and the caller gets the last answer", async () => {
    provider.scripts.set("/flaky", (_, response, nth) => void response.writeHead(nth < 3 ? 503 : 200).end(String(nth)))
    assert.strictEqual((await rest((await through("/flaky")).body)).text, "3")
    provider.scripts.set("/down", (_, response) => void response.writeHead(503).end("down"))
    const { body, status } = await through("/down")
    assert.deepStrictEqual([status, (await rest(body)).text, provider.asked.get("/down")], [503, "down", 3])
  })

  it("without a body has only a head", async () => {
    provider.scripts.set("/head", (_, response) => void response.writeHead(200, { "x-own": "1" }).end())
    provider.scripts.set("/nothing", (_, response) => void response.writeHead(204).end())
    const head = await through("/head", undefined, "HEAD")
    assert.deepStrictEqual([head.status, head.body.headers["x-own"], (await rest(head.body)).whole], [200, "1", true])
    const nothing = await through("/nothing")
    assert.deepStrictEqual([nothing.status, await rest(nothing.body)], [204, { text: "", whole: true }])
  })

  it("closes the provider's connection when its caller disconnects, before the head and after", async () => {
    provider.scripts.set("/silent", () => undefined)
    provider.scripts.set("/begun", (_, response) => void response.write("begun"))
    const early = new AbortController()
    const waiting = through("/silent", early.signal).catch(() => "gone")
    await eventually(
      async () => provider.open(),
      (count) => count === 1
    )
    early.abort()
    assert.strictEqual(await waiting, "gone")
    await provider.nothingOpen()
    const late = new AbortController()
    const { body } = await through("/begun", late.signal)
    body.on("error", () => undefined)
    late.abort()
    await provider.nothingOpen()
  })
})
