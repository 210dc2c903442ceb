/** Ordinary clients read why their body was refused, though they send all of it before they read. */
import { assert, describe, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import * as fs from "node:fs"
import * as http from "node:http"
import { connect } from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { Effect } from "effect"
import { type Failure, PayloadTooLarge } from "../../src/domain/Failure.js"
import { bodyBytes, refusedBody } from "../../src/domain/Limits.js"
import { failureReply } from "../../src/http/ErrorRows.js"
import { jsonReply } from "../../src/http/Wire.js"
import { type Handlers, serve } from "../../src/runtime/http/NodeServer.js"
import { ByteLedger } from "../../src/runtime/memory/ByteLedger.js"
import { eventually } from "../support/eventually.js"
import { ownerOf } from "../support/shareOwners.js"

const MiB = 1024 * 1024
const refused = (failure: Failure) => failureReply(failure, "req_test", 0)

const handlers: Handlers = {
  execute: () => Effect.succeed(jsonReply(200, {})),
  handle: () => Effect.succeed(jsonReply(200, {})),
  webhook: () =>
    Effect.succeed({
      _tag: "Admitted",
      limit: bodyBytes.webhook,
      holder: ownerOf("a"),
      handle: () => Effect.succeed(jsonReply(202, {})),
      refused
    }),
  // As the proxy does: it reads the body up to its limit.
  proxy: () => Effect.succeed(refused(new PayloadTooLarge({ limitBytes: bodyBytes.unified }))),
  recognise: () => Effect.succeed({ _tag: "Known", holder: ownerOf("a") }),
  addressOf: ({ remoteAddress }) => remoteAddress,
  refused: (failure) => Effect.succeed(refused(failure))
}

const serving = Effect.gen(function* () {
  const ledger = new ByteLedger({ bytes: 2 ** 28, bodyBytes: 2 ** 26 })
  const { port } = yield* serve(handlers, { host: "127.0.0.1", port: 0, ledger })
  const held = () => Object.values(ledger.readings().held).reduce((sum, bytes) => sum + bytes, 0)
  return { url: `http://127.0.0.1:${port}`, port, held }
})

const surfaces = [
  "/api/v1/workflows/wf_000000000000/execute",
  "/api/v1/customers",
  "/api/v1/tenants/t/users",
  "/api/v1/proxy/some/path",
  "/api/v1/clients/c/webhooks/w"
]

/** Sends the whole body before it reads, as many clients do; resolves with the answer. */
const sendFirst = (port: number, target: string, head: ReadonlyArray<string>, body: Buffer) =>
  new Promise<string>((resolve) => {
    const socket = connect(port, "127.0.0.1")
    let got = ""
    socket.on("error", (error) => resolve(`${error.message} ${got}`)).on("close", () => resolve(got))
    socket.pause()
    socket.write([`POST ${target} HTTP/1.1`, "host: svc", ...head, "", ""].join("\r\n"))
    socket.write(body, () => {
      socket.setEncoding("latin1").on("data", (text: string) => (got += text))
      socket.resume()
    })
  })

/** Sends by node:http; with `expect`, the body only when it may or after a while. */
const sendByNode = (url: string, body: Buffer, headers: http.OutgoingHttpHeaders) =>
  new Promise<string>((resolve) => {
    const request = http.request(url, { method: "POST", headers, agent: false }, (response) => {
      let text = ""
      response.setEncoding("utf8").on("data", (piece: string) => (text += piece))
      response.on("end", () => resolve(`${response.statusCode} ${text}`))
    })
    request.on("error", (error) => resolve(error.message))
    if (headers["expect"] === undefined) request.end(body)
    else request.on("continue", () => request.end(body)).flushHeaders()
  })

const chunked = (body: Buffer) =>
  Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from("\r\n0\r\n\r\n")])

describe("a body over its limit", () => {
  it.scopedLive("is answered with a readable 413 on every surface, whatever its client does", () =>
    Effect.gen(function* () {
      const { held, port, url } = yield* serving
      const body = Buffer.alloc(7 * MiB, "x")
      const length = `content-length: ${body.length}`
      for (const target of surfaces) {
        const answers = yield* Effect.promise(() =>
          Promise.all([
            sendFirst(port, target, [length], body),
            sendFirst(port, target, ["transfer-encoding: chunked"], chunked(body)),
            // Some send the body at once although they asked.
            sendFirst(port, target, [length, "expect: 100-continue"], body),
            sendByNode(`${url}${target}`, body, { "content-length": body.length }),
            sendByNode(`${url}${target}`, body, { "content-length": body.length, expect: "100-continue" }),
            fetch(`${url}${target}`, { method: "POST", body }).then(async (one) => `${one.status} ${await one.text()}`)
          ])
        )
        for (const [way, answer] of answers.entries())
          assert.match(answer, /^(?:HTTP\/1\.1 )?413 [^]*PAYLOAD_TOO_LARGE/, `${target}, way ${way}`)
      }
      yield* Effect.promise(() =>
        eventually(
          async () => held(),
          (bytes) => bytes === 0
        )
      )
    })
  )

  it.scopedLive("is readable by curl, with and without Expect", () =>
    Effect.gen(function* () {
      const { url } = yield* serving
      const directory = yield* Effect.acquireRelease(
        Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "svc-bodies-"))),
        (made) => Effect.sync(() => fs.rmSync(made, { recursive: true }))
      )
      const file = path.join(directory, "body")
      fs.writeFileSync(file, Buffer.alloc(6 * MiB + 1, "x"))
      for (const target of surfaces)
        for (const expect of ["Expect:", "Expect: 100-continue"]) {
          const text = yield* Effect.promise(
            () =>
              new Promise<string>((resolve) => {
                const args = ["-sS", "-H", expect, "--data-binary", `@${file}`, `${url}${target}`]
                execFile("curl", args, (error, stdout) => resolve(error === null ? stdout : error.message))
              })
          )
          assert.include(text, "PAYLOAD_TOO_LARGE", `${target} ${expect}`)
        }
    })
  )

  it.scopedLive("is discarded up to a bound, and its memory is released at once", () =>
    Effect.gen(function* () {
      const { held, port } = yield* serving
      const socket = connect(port, "127.0.0.1")
      const state = { got: "", closed: false, sent: 0 }
      socket.setEncoding("latin1").on("data", (text: string) => (state.got += text))
      socket.on("error", () => undefined).on("close", () => (state.closed = true))
      socket.write(`POST ${surfaces[1]} HTTP/1.1\r\nhost: svc\r\ntransfer-encoding: chunked\r\n\r\n`)
      const piece = Buffer.from(`10000\r\n${"x".repeat(65_536)}\r\n`)
      const pump = () => {
        while (!state.closed && state.sent < 20 * refusedBody.bytes && socket.write(piece)) state.sent += piece.length
      }
      socket.on("drain", pump)
      pump()
      yield* Effect.promise(() =>
        eventually(
          async () => state.got,
          (text) => text.includes("413")
        )
      )
      assert.strictEqual(held(), 0)
      yield* Effect.promise(() =>
        eventually(
          async () => state.closed,
          (closed) => closed
        )
      )
      assert.isBelow(state.sent, 3 * refusedBody.bytes)
    })
  )
})
