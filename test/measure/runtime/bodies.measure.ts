/** A head and a body that do not arrive end their connection in time. */
import { connect } from "node:net"
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { type Running, start } from "../../support/InProcess.js"
import { assertWithin } from "../../support/pace.js"

let svc: Running
let port: number
beforeAll(async () => {
  svc = await start()
  port = (await svc.listen()).port
})
afterAll(() => svc.stop())

/** Sends this text and nothing more. Returns the answer, and when the connection ended. */
const send = (text: string) =>
  new Promise<{ readonly got: string; readonly millis: number }>((resolve) => {
    const began = performance.now()
    let got = ""
    const socket = connect(port, "127.0.0.1", () => socket.write(text))
    socket
      .on("data", (data) => (got += data.toString()))
      .on("close", () => resolve({ got, millis: performance.now() - began }))
  })

it("a head and a body that do not arrive end their connection in time", async () => {
  const start = "POST /api/v1/customers HTTP/1.1\r\nhost: svc\r\n"
  const [head, body] = await Promise.all([
    send(start),
    send(`${start}authorization: Bearer ${svc.first.key}\r\ncontent-length: 100\r\n\r\nx`)
  ])
  assert.include(head.got, " 408 ")
  assertWithin(head.millis, 20_000, "a head")
  assert.include(body.got, "did not come within 30 s")
  assertWithin(body.millis, 45_000, "a body")
})
