/**
 * Answers of providers in the forms that HTTP allows (repeated and odd headers, framings, encodings, lengths, pieces) reach
 * actions, the proxy and `fetch` as their bytes say.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { createHash } from "node:crypto"
import { request } from "node:http"
import type { Socket } from "node:net"
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib"
import { publishConnector, run, startSharedCalls, stopCalls, svc, workflow } from "../support/calls.js"
import { type MisbehavingProvider, startMisbehavingProvider } from "../support/misbehavingProvider.js"

// --- Answers ---

const kinds = {
  "application/json": "json",
  "application/problem+json; charset=UTF-8": "json",
  "text/plain; charset=iso-8859-1": "text",
  "application/octet-stream": "bytes"
} as const

const codings: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  "": (bytes) => bytes,
  identity: (bytes) => bytes,
  gzip: (bytes) => gzipSync(bytes),
  "X-GZip": (bytes) => gzipSync(bytes),
  deflate: (bytes) => deflateSync(bytes),
  Deflate: (bytes) => deflateRawSync(bytes),
  br: (bytes) => brotliCompressSync(bytes)
}

const typeOf = fc.constantFrom(...(Object.keys(kinds) as Array<keyof typeof kinds>))
const link = fc.webPath().map((path) => `</a${path.replace(/[^\w/]/g, "")}>; rel="other"`)

const answers = fc.record({
  status: fc.constantFrom(200, 201, 202, 203, 206, 299, 400, 404, 409, 418, 422, 451),
  type: typeOf,
  json: fc.jsonValue({ maxDepth: 3, stringUnit: "binary" }).filter((value) => isExact(value)),
  hasMark: fc.boolean(),
  size: fc.constantFrom(0, 1, 15, 16, 17, 1_000, 16_383, 16_384, 65_535, 65_537),
  fill: fc.integer({ min: 0, max: 255 }),
  links: fc.array(link, { maxLength: 3 }),
  odd: fc.constantFrom("", "plain", "a, b", "é", 'x;y="z"', "=?utf-8?q?x?="),
  padding: fc.constantFrom("", " ", "\t", "  \t "),
  upper: fc.boolean(),
  coding: fc.constantFrom(...Object.keys(codings)),
  framing: fc.constantFrom("length", "chunks", "chunks with more", "end"),
  chunk: fc.integer({ min: 1, max: 5_000 }),
  piece: fc.constantFrom(1, 7, 1_000, 1_000_000)
})
type Made = typeof answers extends fc.Arbitrary<infer A> ? A : never

/** What JSON can hold without loss, and what can be stored. */
const isExact = (value: unknown): boolean => {
  const text = JSON.stringify(value)
  return !/\\u0000|\\ud[89a-f]|-0|__proto__|e[+-]\d/i.test(text) && !/\d{15}/.test(text)
}

const contentOf = ({ fill, hasMark, json, size, type }: Made): Buffer => {
  if (kinds[type] === "json")
    return Buffer.concat([Buffer.from(hasMark ? [0xef, 0xbb, 0xbf] : []), Buffer.from(JSON.stringify(json))])
  // ISO-8859-1 is read as windows-1252, which has letters where the other has control characters.
  const letter = fill < 32 || (fill > 126 && fill < 160) ? 0xe9 : fill
  return Buffer.alloc(size, kinds[type] === "text" ? letter : fill)
}

const framed = ({ chunk, framing }: Made, body: Buffer): Buffer => {
  if (!framing.startsWith("chunks")) return body
  const more = framing === "chunks with more"
  const parts: Array<Buffer> = []
  for (let at = 0; at < body.length; at += chunk) {
    const part = body.subarray(at, at + chunk)
    parts.push(Buffer.from(`${part.length.toString(16)}${more ? ';name="a;b"' : ""}\r\n`), part, Buffer.from("\r\n"))
  }
  return Buffer.concat([...parts, Buffer.from(`0\r\n${more ? "X-Trailer: later\r\n" : ""}\r\n`)])
}

const bytesOf = (made: Made): Buffer => {
  const { coding, framing, links, odd, padding, status, type, upper } = made
  const body = (codings[coding] ?? assert.fail(coding))(contentOf(made))
  const name = (text: string) => (upper ? text.toUpperCase() : text)
  const headers = [
    [name("content-type"), type],
    ...links.map((one) => [name("link"), one]),
    [name("x-odd"), odd],
    ...(coding === "" ? [] : [[name("content-encoding"), coding]])
  ].map(([key, value]) => `${key}:${padding}${value}${padding}`)
  // node's parser takes no blanks after these.
  const framings = [
    ...(framing === "length" ? [`${name("content-length")}: ${body.length}`] : []),
    ...(framing.startsWith("chunks") ? [`${name("transfer-encoding")}: chunked`] : []),
    ...(framing === "end" ? ["connection: close"] : [])
  ]
  const head = ["HTTP/1.1 " + status + " Made", ...headers, ...framings, "", ""].join("\r\n")
  return Buffer.concat([Buffer.from(head, "latin1"), framed(made, body)])
}

/** Writes the answer in pieces, the first of them small. */
const write = async (socket: Socket, made: Made): Promise<void> => {
  const bytes = bytesOf(made)
  const small = Math.min(bytes.length, made.piece * 40)
  for (let at = 0; at < small && !socket.destroyed; at += made.piece) {
    socket.write(bytes.subarray(at, Math.min(at + made.piece, small)))
    await new Promise((resolve) => setImmediate(resolve))
  }
  socket.write(bytes.subarray(small))
  if (made.framing === "end") socket.end()
}

// --- Readers ---

const digestOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")

const code = `export default async (ctx) => {
  const { base, path } = ctx.input
  const response = await fetch(base + path)
  const bytes = await response.bytes()
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes))
  const digest = [...hash].map((byte) => byte.toString(16).padStart(2, "0")).join("")
  const { headers, status } = response
  const fetched = { status, link: headers.get("link"), odd: headers.get("x-odd"), digest }
  try {
    return { fetched, called: await svc.connector.madeAnswers.read({ path: path.slice(1) }) }
  } catch (error) {
    return { fetched, failed: error.status ?? error.message }
  }
}`

let provider: MisbehavingProvider
let flow: string
let port: number
const all = fc.sample(answers, { numRuns: 150, seed: 40 })

beforeAll(async () => {
  await startSharedCalls()
  provider = await startMisbehavingProvider((socket, target) => {
    const made = all[Number(target.slice(1))]
    if (made !== undefined) void write(socket, made)
  })
  const response = { type: "auto", map: { body: "{{body}}", link: "{{headers.link}}", odd: "{{headers.x-odd}}" } }
  await publishConnector("made-answers", "1.0.0", {
    retry: { maxAttempts: 1 },
    actions: [{ name: "read", version: 1, request: { method: "GET", path: "/{{args.path}}" }, response }]
  })
  const made = await svc.ask("POST", "/api/v1/connections", {
    key: svc.first.key,
    body: {
      connector: "made-answers",
      customerId: svc.first.customerId,
      credential: { apiKey: "key-of-made-answers" },
      config: { base: provider.url }
    }
  })
  assert.strictEqual(made.status, 201, made.text)
  flow = await workflow(code.slice("export default async (ctx) => {".length, -1))
  port = (await svc.listen()).port
})
afterAll(async () => {
  await stopCalls()
  await provider.close()
})

const throughProxy = (path: string) =>
  new Promise<{ status: number | undefined; link: unknown; odd: unknown; digest: string }>((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${svc.first.key}`,
      "x-svc-connector": "made-answers",
      "x-org-id": svc.first.customerId
    }
    const sent = request({ host: "127.0.0.1", port, path: `/api/v1/proxy${path}`, headers }, (response) => {
      const chunks: Array<Buffer> = []
      response.on("data", (chunk: Buffer) => chunks.push(chunk))
      response.on("error", reject)
      response.on("end", () =>
        resolve({
          status: response.statusCode,
          link: response.headers["link"] ?? null,
          odd: response.headers["x-odd"] ?? null,
          digest: digestOf(Buffer.concat(chunks))
        })
      )
    })
    sent.on("error", reject)
    sent.end()
  })

/** The result that the action's answer has by its type. */
const valueOf = (made: Made): unknown => {
  const content = contentOf(made)
  if (content.length === 0) return null
  const kind = kinds[made.type]
  return kind === "json" ? made.json : kind === "text" ? content.toString("latin1") : content.toString("base64")
}

describe("An answer of a provider", () => {
  it.each(all.map((made, at) => [at, made] as const))(
    "%i of those that are generated is what its bytes say",
    async (at, made) => {
      const { links, odd, status } = made
      const link = links.length === 0 ? null : links.join(", ")
      const expected = { status, link, odd, digest: digestOf(contentOf(made)) }
      const { body } = await run(flow, { base: provider.url, path: `/${at}` })
      assert.deepStrictEqual(body.fetched ?? body, expected)
      assert.deepStrictEqual(body.failed ?? body.called, status < 300 ? { body: valueOf(made), link, odd } : status)
      assert.deepStrictEqual(await throughProxy(`/${at}`), expected)
    }
  )
})
