/** The tests' own proxy: what it cuts does not pass, what it delays comes late and in order, and nothing is lost. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as net from "node:net"
import { setTimeout as pause } from "node:timers/promises"
import { eventually } from "../support/eventually.js"
import { type PathProxy, startPathProxy } from "../support/pathProxy.js"

/** What the server got, and what it does with it: it answers in capitals. */
let received = ""
let server: net.Server
let proxy: PathProxy

beforeAll(async () => {
  server = net.createServer((socket) => {
    socket.on("error", () => undefined)
    socket.setEncoding("utf8").on("data", (text: string) => {
      received += text
      socket.write(text.toUpperCase())
    })
  })
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
  proxy = await startPathProxy((server.address() as net.AddressInfo).port)
})
afterAll(() => {
  proxy.close()
  server.close()
})

const connect = async () => {
  const socket = net.connect(proxy.port, "127.0.0.1")
  const client = { socket, answers: "", isClosed: false }
  socket.setEncoding("utf8").on("data", (text: string) => (client.answers += text))
  socket.on("error", () => undefined)
  socket.on("close", () => (client.isClosed = true))
  await new Promise<void>((done) => socket.once("connect", done))
  received = ""
  socket.write("a")
  await eventually(
    async () => client.answers,
    (answers) => answers === "A"
  )
  return client
}

const shortly = () => pause(50)

describe("a path", () => {
  it.each([
    ["toServer", "a", "A"],
    ["toClient", "ab", "A"],
    ["both", "a", "A"]
  ] as const)("that is cut %s keeps what is sent until it is healed", async (direction, got, answered) => {
    const client = await connect()
    proxy.cut(direction)
    client.socket.write("b")
    await shortly()
    assert.deepStrictEqual([received, client.answers], [got, answered])
    proxy.heal("resumed")
    await eventually(
      async () => client.answers,
      (answers) => answers === "AB"
    )
    client.socket.destroy()
  })

  it("that was cut may leave its connections silent, and carries new ones", async () => {
    const client = await connect()
    proxy.cut()
    client.socket.write("b")
    proxy.heal("dead")
    await shortly()
    assert.deepStrictEqual([client.answers, client.isClosed], ["A", false])
    client.socket.destroy()
    ;(await connect()).socket.destroy()
  })

  it("that is slow passes everything in order", async () => {
    const client = await connect()
    const began = performance.now()
    proxy.delay(100)
    client.socket.write("b")
    await shortly()
    assert.strictEqual(client.answers, "A")
    proxy.delay(0)
    // What has ended is passed on before its end.
    client.socket.end("c")
    await eventually(
      async () => received,
      (text) => text === "abc"
    )
    assert.isAtLeast(performance.now() - began, 99)
  })
})
