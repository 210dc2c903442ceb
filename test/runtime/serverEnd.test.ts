/** A server that leaves refuses requests by an answer, until none comes any more; none meets a closed connection. */
import { Agent, request } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import { Worker } from "node:worker_threads"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber } from "effect"
import { failureReply } from "../../src/http/ErrorRows.js"
import { jsonReply } from "../../src/http/Wire.js"
import { type Handlers, type RunningServer, serve } from "../../src/runtime/http/NodeServer.js"
import { ByteLedger } from "../../src/runtime/memory/ByteLedger.js"
import { eventually } from "../support/eventually.js"
import { ownerOf } from "../support/shareOwners.js"

const none = () => Effect.dieMessage("no test asks for it")
const handlers: Handlers = {
  execute: none,
  handle: () => Effect.succeed(jsonReply(200, {})),
  webhook: none,
  proxy: none,
  recognise: () => Effect.succeed({ _tag: "Known", holder: ownerOf("a") }),
  addressOf: ({ remoteAddress }) => remoteAddress,
  refused: (failure) => Effect.succeed(failureReply(failure, "req_test", 0))
}
const ledger = new ByteLedger({ bytes: 2 ** 26, bodyBytes: 2 ** 24 })

/** A server in a fiber that is interrupted to end it, as the service is. */
const started = async (hasOthers: boolean) => {
  const ready = Effect.runSync(Deferred.make<RunningServer>())
  const serving = serve(handlers, { host: "127.0.0.1", port: 0, ledger, hasOthers }).pipe(
    Effect.flatMap((running) => Deferred.succeed(ready, running)),
    Effect.zipRight(Effect.never),
    Effect.scoped
  )
  const fiber = Effect.runFork(serving)
  const { leave, port } = await Effect.runPromise(Deferred.await(ready))
  return {
    port,
    leave: () => Effect.runPromise(leave(Duration.seconds(1))),
    end: () => Effect.runPromise(Fiber.interrupt(fiber))
  }
}

/** The status and `Retry-After` of an answer; or the code of the error without one. */
const ask = (port: number, agent: Agent) =>
  new Promise<readonly [status: number | string | undefined, retryAfter?: string | undefined]>((resolve) => {
    const sent = request({ port, host: "127.0.0.1", path: "/x", agent }, (answer) => {
      answer.resume().on("end", () => resolve([answer.statusCode, answer.headers["retry-after"]]))
    })
    sent.on("error", (error: NodeJS.ErrnoException) => resolve([error.code]))
    sent.end()
  })

describe("a server that leaves", () => {
  it("beside others, answers until those who send go elsewhere", async () => {
    const { end, leave, port } = await started(true)
    const agent = new Agent({ keepAlive: true, maxSockets: 20 })
    const found: Array<Awaited<ReturnType<typeof ask>>> = []
    const balanced = new AbortController()
    const client = async () => {
      while (!balanced.signal.aborted) {
        found.push(await ask(port, agent))
        await sleep(20)
      }
    }
    const clients = Array.from({ length: 20 }, client)
    await sleep(100)
    await leave()
    let hasEnded = false
    const ending = end().then(() => (hasEnded = true))
    await sleep(2_000)
    assert.isFalse(hasEnded)
    balanced.abort()
    await Promise.all(clients)
    await ending
    agent.destroy()
    assert.deepStrictEqual([...new Set(found.map(([status]) => status))], [200, 503])
    assert.isTrue(found.every(([status, retryAfter]) => status === 200 || retryAfter === "1"))
    assert.deepStrictEqual(await ask(port, agent), ["ECONNREFUSED"])
  })

  it("goes after five seconds, also if requests go on", async () => {
    const { end, leave, port } = await started(true)
    const agent = new Agent()
    await leave()
    const ending = end()
    const found: Array<unknown> = []
    for (let status: unknown; status !== "ECONNREFUSED"; await sleep(20))
      found.push(([status] = await ask(port, agent)))
    await ending
    assert.isAbove(found.length, 20)
  })

  it("that is alone answers what was sent before it ends, however late it reads it", async () => {
    const { end, leave, port } = await started(false)
    const heard: Array<{ readonly kind: string; readonly text: string }> = []
    const client = new Worker(new URL("../support/lateClient.mjs", import.meta.url), { workerData: { port } })
    client.on("message", (one) => heard.push(one))
    const answers = (count: number) =>
      eventually(
        async () => heard.filter(({ kind }) => kind === "data"),
        (all) => all.length >= count
      )
    const bytes = "GET /x HTTP/1.1\r\nhost: svc\r\n\r\n"
    client.postMessage(bytes, [])
    await answers(1)
    await leave()
    client.postMessage(bytes, [])
    // The thread of the server reads nothing meanwhile.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)
    await end()
    assert.match((await answers(2))[1]?.text ?? "", /^HTTP\/1\.1 503 /)
    assert.isEmpty(heard.filter(({ kind }) => kind === "error"))
    await client.terminate()
  })
})
