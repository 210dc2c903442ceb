/** Slow, silent, flooding and malformed clients of the typed RPC are cut off, and their neighbours answered. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, type Mailbox, Scope } from "effect"
import type { WebSocket } from "ws"
import { HeldBytes } from "../../src/actors/ports/HeldBytes.js"
import type { WatchOutlet } from "../../src/actors/management/watch/Watcher.js"
import { rpcLimits } from "../../src/domain/rpc/RpcLimits.js"
import { watchItems } from "../../src/http/rpc/RpcWatch.js"
import { RpcConnection } from "../../src/runtime/http/rpc/RpcConnection.js"
import { eventually } from "../support/eventually.js"
import { endlessHolding } from "../support/holdings.js"
import { type Running, start } from "../support/InProcess.js"
import { connectRpc, type RawRpc } from "../support/rpc.js"

const MiB = 1_048_576

let svc: Running
let baseUrl: string
/** Of another organisation. */
let neighbour: RawRpc
/** Sends nothing from the beginning. */
let silent: Promise<number>
const opened = new Set<RawRpc>()
const connect = async (key = svc.first.key) => {
  const one = await connectRpc(baseUrl, key)
  opened.add(one)
  return one
}

beforeAll(async () => {
  svc = await start({ SVC_HELD_MEMORY_MB: "64" })
  baseUrl = (await svc.listen()).baseUrl
  silent = (await connect()).closed
  neighbour = await connect((await svc.organisation("Neighbour")).key)
})
afterAll(async () => {
  for (const { socket } of opened) socket.terminate()
  await svc.stop()
})

/** The neighbour is answered, whatever else comes. */
const assertAnswered = async () => assert.isDefined((await neighbour.call("executions.list")).value)

const heldBodies = async () => (await svc.run(HeldBytes)).readings().held.bodies

const workflow = async (name: string, code: string) => {
  const saved = await svc.ask("POST", "/api/v1/workflows", {
    key: svc.first.key,
    body: { name, form: "code", code, tier: "instant" }
  })
  await svc.ask("POST", `/api/v1/workflows/${saved.body.data.id}/publish`, { key: svc.first.key, body: {} })
  return String(saved.body.data.id)
}

describe("a slow client", () => {
  it("that does not read is cut off, and nothing is kept for it", async () => {
    const id = await workflow("large", `export default async () => "x".repeat(60_000)`)
    const { executionId } = (await (await connect()).call("executions.run", { workflowId: id })).value
    const slow = await connect()
    slow.socket.pause()
    for (let n = 0; n < 600; n++) void slow.call("executions.await", { id: executionId })
    await assertAnswered()
    // Its calls are over, since their answers were not read.
    await eventually(heldBodies, (bytes) => bytes === 0)
    slow.socket.resume()
    assert.oneOf(await slow.closed, [1006, 1013])
    assert.isBelow(slow.messages.length, 600)
    await assertAnswered()
  })

  it("that acknowledges nothing loses its watch, in words", async () => {
    let outlet: WatchOutlet | undefined
    let isClosed = false
    const watch = {
      attach: (given: WatchOutlet) => {
        outlet = given
        return () => {
          isClosed = true
        }
      }
    }
    const scope = Effect.runSync(Scope.make())
    const opening = watchItems(
      watch,
      () => "here",
      ({ _tag }) => ({ tag: _tag })
    )
    const items: Mailbox.ReadonlyMailbox<unknown, unknown> = Effect.runSync(Scope.extend(opening, scope))
    const message = { topic: "events", id: "evt_1", status: "done", at: 0 } as const
    for (let n = 0; n <= rpcLimits.unsentItems; n++) outlet?.send({ messages: [message], position: undefined })
    assert.isTrue(isClosed)
    const [told] = Effect.runSync(items.takeAll)
    assert.strictEqual(told.length, rpcLimits.unsentItems)
    assert.deepStrictEqual(Effect.runSync(Effect.flip(items.take)), { tag: "Unavailable" })
  })
})

describe("a silent client", () => {
  it("that gives no sign of life is dropped at the second question", () => {
    const done: Array<string> = []
    const socket = { ping: () => done.push("ping"), terminate: () => done.push("terminate") } as unknown as WebSocket
    const connection = new RpcConnection(socket, {
      id: 1,
      head: { method: "GET", target: "/", headers: {}, remoteAddress: "" },
      holding: endlessHolding,
      pass: () => undefined,
      run: () => () => undefined,
      failureOf: () => null
    })
    connection.ping()
    connection.isAlive = true
    connection.ping()
    connection.ping()
    assert.deepStrictEqual(done, ["ping", "ping", "terminate"])
  })
})

describe("a flooding client", () => {
  it("that waits for nothing is refused what is too much", async () => {
    const flooding = await connect()
    const asked = Array.from({ length: 5_000 }, (_, n) =>
      flooding.call(n % 2 === 0 ? "executions.list" : "executions.lists")
    )
    await assertAnswered()
    const tags = new Set((await Promise.all(asked)).map(({ failure }) => failure?._tag))
    assert.includeMembers([...tags], ["NotFound", "TooManyCalls"])
    assert.isDefined((await flooding.call("executions.list")).value)
  })

  it("that gives up what it starts has no more of it going on", async () => {
    const id = await workflow("slow", `export default async () => { await new Promise((r) => setTimeout(r, 1_000)) }`)
    const flooding = await connect()
    const asked = Array.from({ length: 150 }, (_, n) => {
      const call = flooding.call("executions.start", { workflowId: id })
      flooding.send({ _tag: "Interrupt", requestId: String(n + 1) })
      return call
    })
    const tags = (await Promise.all(asked)).map(({ failure }) => failure?._tag)
    assert.strictEqual(tags.filter((tag) => tag === "TooManyCalls").length, 50)
    assert.strictEqual(tags.filter((tag) => tag === "Interrupt").length, 100)
    await assertAnswered()
  })

  it("that sends pings and reads no pong is cut off; those that are read hold nothing", async () => {
    const held = await heldBodies()
    const alive = await connect()
    const pong = new Promise((resolve) => alive.socket.once("pong", resolve))
    alive.socket.ping("x".repeat(100))
    await pong
    assert.isAtMost(await heldBodies(), held)
    const flooding = await connect()
    const hasEnded = () => flooding.socket.readyState === flooding.socket.CLOSED
    flooding.socket.pause()
    const data = Buffer.alloc(125)
    flooding.socket.on("error", () => undefined)
    for (let n = 0; n < 400 && !hasEnded(); n++) {
      for (let ping = 0; ping < 1_000; ping++) flooding.socket.ping(data, undefined, () => undefined)
      await new Promise((resolve) => setImmediate(resolve))
    }
    await assertAnswered()
    flooding.socket.resume()
    assert.oneOf(await flooding.closed, [1006, 1013])
  })

  it("that begins many large frames holds no more than its organisation may, and leaves room for others", async () => {
    const flooding = await Promise.all(Array.from({ length: 20 }, () => connect()))
    const [first = assert.fail()] = flooding
    const part = Buffer.alloc(64 * 1024, "x")
    for (const { socket } of flooding)
      for (let n = 0; n < 80; n++) socket.send(part, { fin: false, binary: false }, () => undefined)
    assert.oneOf(await Promise.race(flooding.map(({ closed }) => closed)), [1006, 1013])
    assert.isAtMost(await heldBodies(), 4 * MiB)
    const large = { type: "a.b", payload: "x".repeat(200_000) }
    assert.isDefined((await neighbour.call("events.publish", large)).value)
    await assertAnswered()
    for (const { socket } of flooding) socket.terminate()
    await first.closed
    await eventually(heldBodies, (bytes) => bytes < MiB)
  })
})

describe("a malformed client", () => {
  const sound = [
    `{"_tag":"Request","id":"7","tag":"executions.list","payload":{},"headers":[]}`,
    `{"_tag":"Request","id":"8","tag":"executions.watch","payload":{"cursor":null},"headers":[["a","b"]]}`,
    `{"_tag":"Request","id":"9","tag":"events.publish","payload":{"type":"a.b","payload":[1,{"b":"\\u0000"}]},"headers":[]}`,
    `{"_tag":"Interrupt","requestId":"8"}`,
    `{"_tag":"Ack","requestId":"8"}`
  ]
  /** The same numbers in each run. */
  const numbers = (seed: number) => () => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) / 2_147_483_648

  it("sends what it likes, and is answered or closed", async () => {
    const random = numbers(7)
    const pieces = [`"`, "{", "}", "[", "]", ",", ":", "null", "1e999", "\\u0000", "\ud800", "_tag", "x".repeat(5_000)]
    for (let n = 0; n < 60; n++) {
      const connection = await connect()
      for (const text of sound) {
        const at = Math.floor(random() * text.length)
        const piece = pieces[Math.floor(random() * pieces.length)] ?? ""
        const end = at + Math.floor(random() * 8)
        connection.sendText(random() < 0.3 ? text : `${text.slice(0, at)}${piece}${text.slice(end)}`)
      }
      connection.send({ _tag: "Eof" })
      assert.oneOf(await connection.closed, [1000, 1007, 1008])
      for (const { exit } of connection.messages)
        assert.notInclude(JSON.stringify(exit ?? null), "Die", "a defect leaves the service")
    }
    await assertAnswered()
    await eventually(heldBodies, (bytes) => bytes === 0)
  })

  it("breaks no other connection by frames that are none", async () => {
    for (const bytes of [
      Buffer.from([0x83, 0x80, 0, 0, 0, 0]),
      Buffer.from([0x81, 0x05, 1, 2, 3, 4, 5]),
      Buffer.alloc(64, 0xff)
    ]) {
      const connection = await connect()
      const stream: unknown = Reflect.get(connection.socket, "_socket")
      if (typeof stream === "object" && stream !== null && "write" in stream && typeof stream.write === "function")
        stream.write(bytes)
      assert.strictEqual(await connection.closed, 1002)
    }
    await assertAnswered()
  })
})

describe("a silent client from the beginning", () => {
  it("is closed", async () => {
    assert.strictEqual(await silent, 1008)
  })
})
