/** Slow, silent and flooding clients of the typed RPC stay within bounded memory, and delay no neighbour. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { HeldBytes } from "../../../src/actors/ports/HeldBytes.js"
import { eventually } from "../../support/eventually.js"
import { assertBytes } from "../../support/figures.js"
import { liveBytes } from "../../support/heap.js"
import { type Running, start } from "../../support/InProcess.js"
import { assertOnceWithin, assertWithin } from "../../support/pace.js"
import { connectRpc, type RawRpc } from "../../support/rpc.js"

const MiB = 1_048_576
let svc: Running
let baseUrl: string
/** Of another organisation. */
let neighbour: RawRpc
const opened = new Set<RawRpc>()
const connect = async () => {
  const one = await connectRpc(baseUrl, svc.first.key)
  opened.add(one)
  return one
}
beforeAll(async () => {
  svc = await start({ SVC_HELD_MEMORY_MB: "64" })
  baseUrl = (await svc.listen()).baseUrl
  neighbour = await connectRpc(baseUrl, (await svc.organisation("Neighbour")).key)
}, 60_000)
afterAll(async () => {
  for (const { socket } of [...opened, neighbour]) socket.terminate()
  await svc.stop()
})

const assertUndelayed = () =>
  assertOnceWithin(500, "an answer to a neighbour", async () => {
    const started = performance.now()
    assert.isDefined((await neighbour.call("executions.list")).value)
    return performance.now() - started
  })

it("a client that does not read", async () => {
  const code = `export default async () => "x".repeat(60_000)`
  const ask = (target: string, body: object) =>
    svc.ask("POST", `/api/v1/workflows${target}`, { key: svc.first.key, body })
  const { id } = (await ask("", { name: "large", form: "code", code, tier: "instant" })).body.data
  await ask(`/${id}/publish`, {})
  const { executionId } = (await (await connect()).call("executions.run", { workflowId: id })).value
  const before = liveBytes()
  const slow = await connect()
  slow.socket.pause()
  for (let n = 0; n < 600; n++) void slow.call("executions.await", { id: executionId })
  await assertUndelayed()
  await eventually(
    async () => (await svc.run(HeldBytes)).readings().held.bodies,
    (bytes) => bytes === 0
  )
  assertBytes(liveBytes() - before, 8 * MiB, "held for it")
  slow.socket.resume()
  await slow.closed
  await assertUndelayed()
})

it("a client that waits for nothing", async () => {
  const flooding = await connect()
  const asked = Array.from({ length: 5_000 }, () => flooding.call("executions.list"))
  await assertUndelayed()
  await Promise.all(asked)
})

it("a client that sends pings and reads no pong", async () => {
  const { closed, socket } = await connect()
  socket.pause()
  socket.on("error", () => undefined)
  const data = Buffer.alloc(125)
  for (let n = 0; n < 400 && socket.readyState !== socket.CLOSED; n++) {
    for (let ping = 0; ping < 1_000; ping++) socket.ping(data, undefined, () => undefined)
    await new Promise((resolve) => setImmediate(resolve))
  }
  await assertUndelayed()
  socket.resume()
  await closed
})

it("clients that begin many large frames", async () => {
  const flooding = await Promise.all(Array.from({ length: 20 }, () => connect()))
  const part = Buffer.alloc(64 * 1024, "x")
  for (const { socket } of flooding)
    for (let n = 0; n < 80; n++) socket.send(part, { fin: false, binary: false }, () => undefined)
  await Promise.race(flooding.map(({ closed }) => closed))
  await assertUndelayed()
  for (const { socket } of flooding) socket.terminate()
})

it("clients that send what is no message", async () => {
  for (let n = 0; n < 60; n++) {
    const connection = await connect()
    for (let at = 0; at < 5; at++) connection.sendText(`{"_tag":"Request","id":"7","tag":${"[".repeat(n)}`)
    connection.send({ _tag: "Eof" })
    await connection.closed
  }
  await assertUndelayed()
})

it("a client that sends nothing from the beginning is closed after ten seconds", async () => {
  const started = performance.now()
  assert.strictEqual(await (await connect()).closed, 1008)
  const took = performance.now() - started
  assert.isAtLeast(took, 9_500)
  assertWithin(took, 12_000)
}, 30_000)
