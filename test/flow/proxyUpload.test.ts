/** Bodies through the proxy stream, are exact over every retry, and never look complete when they are not. */
import { createHash, createHmac, randomBytes } from "node:crypto"
import { type ClientRequest, request as ask, type IncomingMessage, type ServerResponse } from "node:http"
import { createConnection } from "node:net"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Option } from "effect"
import { signIdentity } from "../../src/domain/delivery/Signature.js"
import { connect, publishConnector, svc, systems } from "../support/calls.js"
import { eventually } from "../support/eventually.js"
import { type FlowingProvider, startFlowingProvider } from "../support/flowingProvider.js"

const canary = "canary/of+the=upload"
const MiB = 1024 * 1024
const tokens: Array<string> = []
let provider: FlowingProvider

const hash = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex")
const wholeOf = async (body: IncomingMessage) => {
  const pieces: Array<Buffer> = []
  for await (const piece of body) pieces.push(piece)
  return Buffer.concat(pieces)
}
/** Answers with the received body once it is complete. */
const summing = async (request: IncomingMessage, response: ServerResponse) => {
  const body = await wholeOf(request)
  const { authorization, "content-length": length, "transfer-encoding": coding } = request.headers
  response.end(JSON.stringify({ hash: hash(body), length, coding, key: request.headers["x-acme-key"], authorization }))
}

beforeAll(async () => {
  provider = await startFlowingProvider("rising", canary, summing)
})
afterAll(() => provider.close())

interface Answer {
  readonly status: number
  readonly headers: IncomingMessage["headers"]
  readonly body: IncomingMessage
}
interface Sending {
  readonly request: ClientRequest
  readonly answer: Promise<Answer>
}

/** `length`: the content-length of the body; null: chunked. */
const upload = (path: string, length: number | null, more: Readonly<Record<string, string>> = {}): Sending => {
  const headers = {
    authorization: `Bearer ${svc.first.key}`,
    "x-svc-connector": "rising",
    "x-org-id": svc.first.customerId,
    "content-type": "application/octet-stream",
    ...(length === null ? {} : { "content-length": String(length) }),
    ...more
  }
  const request = ask({ port: provider.port, method: "PUT", path: `/api/v1/proxy${path}`, headers, agent: false })
  const answer = new Promise<Answer>((resolve, reject) =>
    request
      .once("response", (body) => resolve({ status: body.statusCode ?? 0, headers: body.headers, body }))
      .on("error", reject)
  )
  answer.catch(() => undefined)
  request.flushHeaders()
  return { request, answer }
}
const json = async ({ answer }: Sending) => {
  const { body, status } = await answer
  return { status, said: JSON.parse((await wholeOf(body)).toString()) }
}
/** Resolves when the provider has received this number of bytes in all requests to the path. */
const receiving = () => {
  let bytes = 0
  return {
    count: (piece: Buffer) => {
      bytes += piece.length
    },
    reach: (wanted: number) =>
      eventually(
        async () => bytes,
        (count) => count >= wanted
      )
  }
}
const noted = (what: string) =>
  eventually(
    async () => {
      const { body } = await svc.ask("GET", "/api/v1/audit?action=proxy.call", { key: svc.first.key })
      return body.data.map(({ changes }: { changes: [{ after: string }] }) => changes[0].after)
    },
    (said) => said.includes(what)
  )

describe("A body through the proxy", () => {
  it("reaches the provider with its first bytes, before its caller has sent the last", async () => {
    const body = randomBytes(3 * MiB)
    const { count, reach } = receiving()
    provider.scripts.set("/slow", (request, response) => {
      request.on("data", count)
      summing(request, response)
    })
    const sending = upload("/slow", body.length)
    sending.request.write(body.subarray(0, 100_000))
    await reach(100_000)
    sending.request.end(body.subarray(100_000))
    const { said, status } = await json(sending)
    assert.deepStrictEqual([status, said.hash, said.length], [200, hash(body), String(body.length)])
    assert.strictEqual(said.key, "[redacted]", "what is sent with it is taken out of the answer")
  })

  it("that is small is sent with a length, also if it arrived chunked", async () => {
    for (const [length, size] of [
      [1_000, 1_000],
      [null, 1_000],
      [null, 2 * MiB]
    ] as const) {
      const body = randomBytes(size)
      const sending = upload("/whole", length)
      sending.request.end(body)
      const { said, status } = await json(sending)
      assert.deepStrictEqual(
        [status, said.hash, said.length, said.coding],
        [200, hash(body), String(size), undefined],
        `${length} ${size}`
      )
    }
  })

  it("is sent again from its beginning, followed by what still arrives", async () => {
    const body = randomBytes(5 * MiB)
    const half = 2 * MiB
    const { count, reach } = receiving()
    provider.scripts.set("/again", async (request, response, nth) => {
      if (nth === 1) return void request.once("data", () => response.writeHead(503).end("busy"))
      if (nth === 2) return void request.once("data", () => request.socket.destroy())
      request.on("data", count)
      return summing(request, response)
    })
    const sending = upload("/again", body.length)
    sending.request.write(body.subarray(0, half))
    await reach(half)
    sending.request.end(body.subarray(half))
    const { said, status } = await json(sending)
    assert.deepStrictEqual([status, said.hash, provider.asked.get("/again")], [200, hash(body), 3])
  })

  it("is sent again with a new token, if the first was refused in the middle of the body", async () => {
    provider.scripts.set("/token", async (request, response) => {
      tokens.push((await wholeOf(request)).toString())
      const granted = { access_token: "canary-second", expires_in: 3_600, token_type: "Bearer" }
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(granted))
    })
    await publishConnector("renewing", "1.0.0", {
      retry: { on: [401], initialMs: 300, maxAttempts: 3 },
      auth: [
        {
          id: "oauth",
          type: "oauth2",
          default: true,
          authorizationUrl: "{{connection.config.base}}/authorize",
          tokenUrl: "{{connection.config.base}}/token",
          clientId: "client",
          clientSecret: "canary-client"
        }
      ]
    })
    const made = await svc.ask("POST", "/api/v1/connections", {
      key: svc.first.key,
      body: {
        connector: "renewing",
        customerId: svc.first.customerId,
        config: { base: systems.url },
        credential: { accessToken: "canary-first", refreshToken: "canary-refresh", expiresIn: 86_400 }
      }
    })
    assert.strictEqual(made.status, 201, made.text)
    provider.scripts.set("/renewed", (request, response) => {
      if (request.headers.authorization === "Bearer canary-second") return summing(request, response)
      return void request.once("data", () => response.writeHead(401).end())
    })
    // The service refreshes a token that is two minutes old, and not one that is new.
    let release = () => {}
    provider.scripts.set("/hold", (_, response) => {
      release = () => void response.end("{}")
    })
    const headers = { "x-svc-connector": "rising", "x-org-id": svc.first.customerId }
    const held = svc.ask("GET", "/api/v1/proxy/hold", { key: svc.first.key, headers, later: "2 minutes" })
    const body = randomBytes(4 * MiB)
    const sending = upload("/renewed", body.length, { "x-svc-connector": "renewing" })
    sending.request.write(body.subarray(0, MiB))
    await eventually(
      async () => provider.asked.get("/renewed") ?? 0,
      (count) => count === 2
    )
    sending.request.end(body.subarray(MiB))
    const { said, status } = await json(sending)
    release()
    await held
    assert.deepStrictEqual([status, said.hash, tokens.length], [200, hash(body), 1])
  })

  it("whose caller disconnects breaks off at the provider too, is recorded, and returns its permit", async () => {
    await publishConnector("single", "1.0.0", { rateLimit: { concurrency: 1 } })
    await connect("single", canary)
    let ended = ""
    provider.scripts.set("/left", (request) => {
      request.on("end", () => (ended += "whole"))
      request.on("close", () => (ended += request.complete ? " complete" : " broken"))
      request.resume()
    })
    const sending = upload("/left", 3 * MiB, { "x-svc-connector": "single" })
    sending.request.write(randomBytes(MiB))
    await eventually(
      async () => provider.asked.get("/left"),
      (count) => count === 1
    )
    sending.request.destroy()
    await provider.nothingOpen()
    assert.strictEqual(ended, " broken")
    await noted("the caller went away")
    const body = randomBytes(MiB)
    const next = upload("/next", body.length, { "x-svc-connector": "single" })
    next.request.end(body)
    assert.strictEqual((await json(next)).said.hash, hash(body))
    assert.strictEqual(provider.asked.get("/left"), 1, "nothing is tried again for nobody")
  })

  it("that the provider refuses early is answered at once with the provider's answer", async () => {
    provider.scripts.set("/unwanted", (request, response) => {
      request.once("data", () => response.writeHead(413, { "x-own": "1" }).end("too much for me"))
    })
    const sending = upload("/unwanted", 4 * MiB)
    sending.request.write(randomBytes(MiB))
    const closed = new Promise((resolve) => sending.request.once("close", () => resolve("closed")))
    const { body, headers, status } = await sending.answer
    assert.deepStrictEqual([status, headers["x-own"]], [413, "1"])
    assert.strictEqual((await wholeOf(body)).toString(), "too much for me")
    await provider.nothingOpen()
    assert.strictEqual(await closed, "closed", "nobody waits for ever for the rest")
    // A caller that sends the whole body reads the answer afterwards.
    const stubborn = upload("/unwanted", 4 * MiB)
    stubborn.request.end(randomBytes(4 * MiB))
    assert.strictEqual((await stubborn.answer).status, 413)
    await provider.nothingOpen()
  })

  it("that was answered early and is sent completely leaves its connection open for the next request", async () => {
    const head = [
      `PUT /api/v1/proxy/unwanted HTTP/1.1`,
      "host: x",
      `authorization: Bearer ${svc.first.key}`,
      "x-svc-connector: rising",
      `x-org-id: ${svc.first.customerId}`
    ]
    const socket = createConnection(provider.port, "127.0.0.1")
    let got = ""
    socket.setEncoding("latin1").on("data", (text: string) => (got += text))
    const has = (text: string) =>
      eventually(
        async () => got,
        (all) => all.includes(text)
      )
    socket.write([...head, `content-length: ${MiB}`, "", ""].join("\r\n"))
    socket.write(Buffer.alloc(MiB / 2))
    await has("too much for me\r\n0\r\n\r\n")
    got = ""
    socket.write(Buffer.alloc(MiB / 2))
    socket.write("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
    await has("HTTP/1.1 200 OK")
    socket.destroy()
  })

  it("continues to stream while its answer already streams", async () => {
    const body = randomBytes(2 * MiB)
    provider.scripts.set("/both", async (request, response) => {
      response.write("begun ")
      response.end(hash(await wholeOf(request)))
    })
    const sending = upload("/both", body.length)
    sending.request.write(body.subarray(0, MiB))
    const answer = await sending.answer
    sending.request.end(body.subarray(MiB))
    assert.strictEqual((await wholeOf(answer.body)).toString(), `begun ${hash(body)}`)
  })

  it("that a signature covers is signed and sent when it is complete", async () => {
    await publishConnector("sealed", "1.0.0", {
      auth: [
        {
          id: "signed",
          type: "custom",
          default: true,
          fields: [{ name: "apiKey", secret: true }],
          sign: "hook:hmacSha256",
          signing: { key: "{{credential.apiKey}}", payload: "{method}{target}{body}" }
        }
      ]
    })
    await connect("sealed", canary)
    provider.scripts.set("/signed", async (request, response) => {
      const expected = createHmac("sha256", canary)
        .update("PUT/signed")
        .update(await wholeOf(request))
      response.writeHead(expected.digest("hex") === request.headers["x-signature"] ? 200 : 401).end("{}")
    })
    const sending = upload("/signed", 3 * MiB, { "x-svc-connector": "sealed" })
    sending.request.write(randomBytes(MiB))
    await new Promise((resolve) => setTimeout(resolve, 200))
    assert.isUndefined(provider.asked.get("/signed"))
    sending.request.end(randomBytes(2 * MiB))
    assert.strictEqual((await json(sending)).status, 200)
  })

  it("above the cap is not sent, whether its length is known or not", async () => {
    const told = upload("/capped", 7 * MiB)
    assert.strictEqual((await told.answer).status, 413)
    told.request.destroy()
    const chunked = upload("/capped", null)
    chunked.request.end(Buffer.alloc(7 * MiB))
    assert.deepInclude((await json(chunked)).said, { code: "PAYLOAD_TOO_LARGE", statusCode: 413 })
    assert.isUndefined(provider.asked.get("/capped"))
  })

  it("is not needed to refuse its request", async () => {
    const unknown = upload("/refused", 5 * MiB, { authorization: `Bearer svk_live_${"x".repeat(43)}` })
    assert.strictEqual((await unknown.answer).status, 401)
    const nowhere = upload("/refused", 5 * MiB, { "x-svc-connector": "nowhere" })
    assert.deepInclude((await json(nowhere)).said, { code: "CONNECTION_REQUIRED", connector: "nowhere" })
    for (const { request } of [unknown, nowhere]) request.destroy()
    assert.isUndefined(provider.asked.get("/refused"))
  })

  it("that the caller's own signature covers is checked completely before a byte is sent", async () => {
    const made = await svc.ask("POST", "/api/v1/api-keys", {
      key: svc.first.key,
      body: { name: "signing", mode: "live", preset: "full_access", hmac: { enabled: true } }
    })
    assert.strictEqual(made.status, 201, made.text)
    const { hmacSecret, key } = made.body.data
    const body = randomBytes(MiB)
    const about = (bytes: Uint8Array) => ({
      method: "PUT",
      target: "/api/v1/proxy/mine",
      header: (name: string) => (name === "x-org-id" ? svc.first.customerId : undefined),
      bodySha256: hash(bytes)
    })
    const hmacHex = (secret: string | Uint8Array, data: string | Uint8Array) =>
      createHmac("sha256", secret).update(data).digest("hex")
    const signed = (bytes: Uint8Array) =>
      Option.getOrThrow(signIdentity({ hmacHex }, [hmacSecret], about(bytes), Math.floor(Date.now() / 1000)))
    const through = (bytes: Uint8Array) => {
      const sending = upload("/mine", body.length, {
        authorization: `Bearer ${key}`,
        "x-identity-hmac": signed(bytes)
      })
      sending.request.end(body)
      return json(sending)
    }
    assert.strictEqual((await through(randomBytes(10))).said.code, "IDENTITY_HMAC_INVALID")
    assert.isUndefined(provider.asked.get("/mine"))
    assert.strictEqual((await through(body)).said.hash, hash(body))
  })
})
