/** The client of the typed RPC connects again, and sends again only what is safe. */
import { afterEach, assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  type EndedExecution,
  type RpcClientOptions,
  type StartedExecution,
  connect,
  type RpcClient,
  Failures,
  makeClient
} from "../../../src/http/rpc/client/Package.js"
import { eventually } from "../../support/eventually.js"
import { type FakeRefusal, type FakeRequest, type FakeRpc, startFakeRpc } from "../../support/fakeRpc.js"

const open = new Set<{ readonly close: () => Promise<unknown> }>()
afterEach(async () => {
  for (const one of open) await one.close()
  open.clear()
})

const service = async (answer: (request: FakeRequest) => void, refuse?: (nth: number) => FakeRefusal | undefined) => {
  const started = await startFakeRpc(answer, refuse)
  open.add(started)
  return started
}

const quick = { key: "svk_test", pause: { first: 5, longest: 50 }, patience: 2_000 }
const client = async (url: RpcClientOptions["url"], more: Partial<RpcClientOptions> = {}): Promise<RpcClient> => {
  const connection = await connect({ url, ...quick, ...more })
  open.add(connection)
  return connection
}

const ended: EndedExecution = { executionId: "exec_1", status: "completed", statusReason: null, output: 1, error: null }
const begun: StartedExecution = { executionId: "exec_1", status: "pending", tier: null }
const made = { eventId: "evt_1", status: "accepted" }
const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    () => assert.fail("it succeeded"),
    (failure: unknown) => failure
  )

const ofTag = (fake: FakeRpc, tag: string) => fake.requests.filter((one) => one.tag === tag)

describe("a connection that breaks", () => {
  /** Breaks it at the first request, and answers later ones. */
  const breaking = (breakOff: (request: FakeRequest) => void, value: unknown) => (request: FakeRequest) =>
    request.connection === 1 ? breakOff(request) : request.succeed(value)
  const dropped = (request: FakeRequest) => request.socket.terminate()

  it.each([
    ["is dropped", dropped],
    ["closes with 1012", ({ socket }: FakeRequest) => socket.close(1012)],
    ["brings a broken frame", ({ socket }: FakeRequest) => socket.send("{nonsense")],
    ["brings bytes", ({ socket }: FakeRequest) => socket.send(Buffer.from([1, 2]))],
    ["brings a defect", ({ socket }: FakeRequest) => socket.send(`{"_tag":"Defect","defect":"x"}`)],
    [
      "gives the call up",
      ({ id, socket }: FakeRequest) => {
        socket.send(
          JSON.stringify({ _tag: "Exit", requestId: id, exit: { _tag: "Failure", cause: { _tag: "Interrupt" } } })
        )
        socket.close(1012)
      }
    ]
  ])("and %s: reads and awaits are sent again", async (_, breakOff) => {
    const fake = await service(breaking(breakOff, ended))
    const { executions } = await client(fake.url)
    assert.deepStrictEqual(await executions.await({ id: "exec_1" }), ended)
    assert.deepStrictEqual(
      fake.requests.map(({ payload }) => payload),
      [{ id: "exec_1" }, { id: "exec_1" }]
    )
  })

  it("and is given up harms no later one by its end", async () => {
    const fake = await service(({ connection, socket, succeed }) => {
      if (connection > 1) return void (fake.requests.length > 2 && succeed(ended))
      socket.pause()
      socket.send("{nonsense")
    })
    const { executions } = await client(fake.url)
    const waiting = executions.await({ id: "exec_1" })
    await eventually(
      async () => fake.requests.length,
      (count) => count === 2
    )
    fake.sockets[0]?.terminate()
    assert.deepStrictEqual(await executions.await({ id: "exec_2" }), ended)
    fake.requests[1]?.succeed(ended)
    assert.deepStrictEqual(await waiting, ended)
    assert.lengthOf(fake.sockets, 2)
  })

  it("and stalls is given up", async () => {
    const fake = await service((request) => request.connection > 1 && request.succeed(ended))
    const { executions } = await client(fake.url, { heartbeat: 30 })
    fake.stall()
    assert.deepStrictEqual(await executions.await({ id: "exec_1" }), ended)
    assert.isAbove(fake.sockets.length, 1)
  })

  it("starts and publishes once: both have a key of the client's own", async () => {
    const fake = await service((request) =>
      request.connection === 1
        ? request.socket.terminate()
        : request.succeed(request.tag === "events.publish" ? made : begun)
    )
    const { events, executions } = await client(fake.url)
    const start = executions.start({ workflowId: "wf_1", input: { a: 1 } })
    assert.deepStrictEqual(await start, begun)
    const [first, second] = ofTag(fake, "executions.start")
    assert.match(first?.payload.idempotencyKey, /^[\da-f-]{36}$/)
    assert.deepStrictEqual(first?.payload, second?.payload)
    assert.deepStrictEqual(await events.publish({ type: "a.b", idempotencyKey: "mine" }), made)
    assert.deepStrictEqual(ofTag(fake, "events.publish").at(-1)?.payload, { type: "a.b", idempotencyKey: "mine" })
  })

  it("fails what may have taken effect, and sends it no second time", async () => {
    const fake = await service(dropped)
    const { connections, events, executions } = await client(fake.url)
    const calls = [
      () => executions.start({ workflowId: "wf_1", idempotencyKey: null }),
      () => executions.cancel({ id: "exec_1" }),
      () => events.publish({ type: "a.b", idempotencyKey: null }),
      () => connections.call({ connector: "acme", method: "POST", path: "orders" })
    ]
    for (const [at, call] of calls.entries()) {
      const failure = await failureOf(call())
      assert.instanceOf(failure, Failures.ConnectionLost)
      assert.deepInclude(failure, { outcome: "unknown", retryable: false })
      assert.include(failure.message, "whether it took effect is not known")
      assert.lengthOf(fake.requests, at + 1)
      assert.notProperty(fake.requests[at]?.payload, "idempotencyKey")
    }
  })

  it("sends a request through a connection again if it reads or has a key", async () => {
    const reply = { status: 200, headers: {}, body: "x", bodyBase64: null }
    const fake = await service((request) =>
      ofTag(fake, request.tag).length % 2 === 1 ? request.socket.terminate() : request.succeed(reply)
    )
    const { connections } = await client(fake.url)
    assert.deepStrictEqual(await connections.call({ connector: "acme", method: "GET", path: "orders" }), reply)
    const keyed = { connector: "acme", method: "POST", path: "orders", idempotencyKey: "k" } as const
    assert.deepStrictEqual(await connections.call(keyed), reply)
    assert.lengthOf(fake.requests, 4)
  })

  it("again and again, fails a call after five times", async () => {
    const fake = await service(dropped)
    const { executions } = await client(fake.url)
    assert.deepInclude(await failureOf(executions.get({ id: "exec_1" })), { _tag: "ConnectionLost" })
    assert.lengthOf(fake.requests, 5)
  })
})

describe("an answer that says to try again", () => {
  const unavailable = { _tag: "Unavailable", code: "UNAVAILABLE", statusCode: 503, message: "x", requestId: "req_1" }
  const busy = { ...unavailable, retryable: true, details: [], retryAfterSeconds: 0.01 }

  it("since the node leaves is followed", async () => {
    const fake = await service((request) => (fake.requests.length < 3 ? request.fail(busy) : request.succeed(ended)))
    const { executions } = await client(fake.url)
    assert.deepStrictEqual(await executions.run({ workflowId: "wf_1" }), ended)
  })

  it("later than the caller waits is a failure at once", async () => {
    const fake = await service((request) => request.fail({ ...busy, retryAfterSeconds: 60 }))
    const { executions } = await client(fake.url)
    assert.instanceOf(await failureOf(executions.get({ id: "exec_1" })), Failures.Unavailable)
  })

  it("since the first request with the key is not answered is followed, if that was the client's own", async () => {
    const inProgress = { ...busy, _tag: "IdempotencyInProgress", code: "IDEMPOTENCY_IN_PROGRESS", statusCode: 409 }
    const fake = await service((request) => {
      const nth = fake.requests.length
      if (nth === 1) request.socket.terminate()
      else if (nth === 3) request.succeed(begun)
      else request.fail(inProgress)
    })
    const { executions } = await client(fake.url)
    assert.deepStrictEqual(await executions.start({ workflowId: "wf_1" }), begun)
    const other = await failureOf(executions.start({ workflowId: "wf_1", idempotencyKey: "of another program" }))
    assert.instanceOf(other, Failures.IdempotencyInProgress)
  })
})

describe("several addresses", () => {
  it("are taken one after the other: of a node that stops, or is not there", async () => {
    const first = await service(({ socket }) => socket.close(1012))
    const second = await service(({ succeed }) => succeed(ended))
    const away = await startFakeRpc(() => {})
    await away.close()
    const { executions } = await client([away.url, first.url, second.url])
    assert.lengthOf(first.sockets, 1)
    assert.deepStrictEqual(await executions.await({ id: "exec_1" }), ended)
    assert.deepStrictEqual([first.requests.length, second.requests.length], [1, 1])
  })
})

describe("a refused connection", () => {
  const body = (code: string) =>
    JSON.stringify({ code, statusCode: 0, message: "no", requestId: "req_1", retryable: false, details: [] })

  it.each([
    [401, "Unauthorized", "KEY_REVOKED"],
    [403, "Forbidden", "IP_NOT_ALLOWED"],
    [400, "InvalidRequest", "INVALID_HEADER"],
    [404, "NotFound", "NOT_FOUND"]
  ] as const)("is a typed failure at once: %s", async (status, tag, code) => {
    const fake = await service(
      () => {},
      () => ({ status, body: body(code) })
    )
    const failure = await failureOf(connect({ url: fake.url, ...quick }))
    assert.isTrue(failure instanceof Failures[tag])
    assert.deepInclude(failure, { code, message: "no", requestId: "req_1" })
    assert.lengthOf(fake.headers, 1)
  })

  it("for now is tried again when the service says, within a bound", async () => {
    const fake = await service(
      ({ succeed }) => succeed(ended),
      (nth) => (nth < 3 ? { status: nth === 1 ? 429 : 503, headers: "retry-after: 0\r\n", body: "busy" } : undefined)
    )
    const { executions } = await client(fake.url)
    assert.deepStrictEqual(await executions.await({ id: "exec_1" }), ended)
    const later = await service(
      () => {},
      () => ({ status: 503, headers: "retry-after: 3600\r\n", body: "<html>" })
    )
    // It waits neither for that nor for as long as it has patience, which a test has not.
    const failure = await failureOf(connect({ url: later.url, ...quick, patience: 1_800_000 }))
    assert.instanceOf(failure, Failures.Unavailable)
    assert.deepInclude(failure, { statusCode: 503, retryAfterSeconds: 3600, retryable: true })
  })

  it("of one address alone, for now, leads to the next one at once", async () => {
    const busy = await service(
      () => {},
      () => ({ status: 503, headers: "retry-after: 60\r\n" })
    )
    const fake = await service(({ succeed }) => succeed(ended))
    const { executions } = await client([busy.url, fake.url])
    assert.deepStrictEqual(await executions.await({ id: "exec_1" }), ended)
  })

  it("or none is a failure after the caller's patience", async () => {
    const away = await startFakeRpc(() => {})
    await away.close()
    const failure = await failureOf(connect({ url: away.url, ...quick, patience: 200 }))
    assert.instanceOf(failure, Failures.ConnectionLost)
    assert.deepInclude(failure, { outcome: "not sent", retryable: true })
    assert.include(failure.message, "ECONNREFUSED")
  })

  it("of a key that may connect no more fails everything", async () => {
    const fake = await service(() => {})
    const { events, executions } = await client(fake.url)
    const watch = executions.watch()[Symbol.asyncIterator]()
    const calls = [executions.await({ id: "exec_1" }), events.publish({ type: "a.b" }), watch.next()].map(failureOf)
    await eventually(
      async () => fake.requests.length,
      (count) => count === 3
    )
    fake.sockets[0]?.close(4401)
    for (const call of calls) assert.instanceOf(await call, Failures.Unauthorized)
    assert.lengthOf(fake.sockets, 1)
  })
})

describe("options", () => {
  it("name the service by any of its addresses, and say who calls", async () => {
    const fake = await service(({ payload, succeed }) => succeed({ ...ended, output: payload }))
    for (const url of [fake.url, `${fake.url}/api/v1/rpc`, fake.url.replace("http", "ws")]) {
      const { executions } = await client(url, { headers: { "x-a": "b" }, customer: "ref:shop" })
      assert.deepStrictEqual((await executions.await({ id: "exec_1" })).output, { customer: "ref:shop", id: "exec_1" })
      assert.deepInclude((await executions.await({ id: "exec_1", customer: "cus_2" })).output as object, {
        customer: "cus_2"
      })
    }
    assert.deepInclude(fake.headers[0], { authorization: "Bearer svk_test", "x-a": "b" })
  })

  it.each([{ url: "nonsense" }, { url: [] }, { url: ["http://127.0.0.1:1", "ftp://x"] }, { key: "" }, { key: "a\nb" }])(
    "that cannot be used are refused: %o",
    async (wrong) => {
      const failure = await failureOf(connect({ url: "http://127.0.0.1:1", ...quick, ...wrong }))
      assert.instanceOf(failure, Failures.InvalidRequest)
    }
  )
})

describe("a call", () => {
  it("that cannot be sent is refused before it is, and the connection goes on", async () => {
    const fake = await service(({ succeed }) => succeed(ended))
    const { executions } = await client(fake.url)
    const large = { workflowId: "wf_1", input: { text: "x".repeat(2 * 1_048_576) } }
    assert.instanceOf(await failureOf(executions.run(large)), Failures.PayloadTooLarge)
    // @ts-expect-error -- Programs without types send anything.
    assert.instanceOf(await failureOf(executions.await({ id: 5 })), Failures.ValidationFailed)
    assert.lengthOf(fake.requests, 0)
    assert.deepStrictEqual(await executions.await({ id: "exec_1" }), ended)
  })

  it("whose answer is none of this client's is a failure that says so", async () => {
    const fake = await service(({ fail, payload, succeed }) =>
      payload.id === "a" ? succeed({ more: 1 }) : fail({ _tag: "FailureOfLater", code: "LATER", message: "text" })
    )
    const { executions } = await client(fake.url)
    assert.instanceOf(await failureOf(executions.await({ id: "a" })), Failures.UnexpectedAnswer)
    const failure = await failureOf(executions.await({ id: "b" }))
    assert.instanceOf(failure, Failures.UnexpectedAnswer)
    assert.include(failure.message, "LATER: text")
  })

  it("is given up by a signal, of which the service is told", async () => {
    const fake = await service(() => {})
    const { executions } = await client(fake.url)
    const abort = new AbortController()
    const call = failureOf(executions.await({ id: "exec_1" }, { signal: abort.signal }))
    await eventually(
      async () => fake.requests.length,
      (count) => count === 1
    )
    abort.abort(new Error("enough"))
    assert.deepInclude(await call, { message: "enough" })
    await eventually(
      async () => fake.messages.some(({ _tag }) => _tag === "Interrupt"),
      (found) => found
    )
  })

  it("fails when its client closes, and later", async () => {
    const fake = await service(() => {})
    const connection = await client(fake.url)
    const call = failureOf(connection.executions.cancel({ id: "exec_1" }))
    await eventually(
      async () => fake.requests.length,
      (count) => count === 1
    )
    await connection.close()
    assert.deepInclude(await call, { _tag: "ConnectionLost", outcome: "unknown" })
    const later = await failureOf(connection.executions.cancel({ id: "exec_1" }))
    assert.deepInclude(later, { _tag: "ConnectionLost", outcome: "not sent" })
  })

  it("is an effect, whose failures are told apart by their tags", async () => {
    const body = {
      code: "NOT_FOUND",
      statusCode: 404,
      message: "none",
      requestId: "req_1",
      retryable: false,
      details: []
    }
    const fake = await service(({ fail }) => fail({ _tag: "NotFound", ...body }))
    const program = Effect.gen(function* () {
      const { executions } = yield* makeClient({ url: fake.url, ...quick })
      return yield* Effect.map(executions.get({ id: "exec_1" }), () => "found").pipe(
        Effect.catchTag("NotFound", ({ code }) => Effect.succeed(code))
      )
    })
    assert.strictEqual(await Effect.runPromise(Effect.scoped(program)), "NOT_FOUND")
  })
})
