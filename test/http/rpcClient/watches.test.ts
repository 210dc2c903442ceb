/** Watches of the client of the typed RPC lose nothing over lost connections, and take no more than is read. */
import { afterEach, assert, describe, it } from "@effect/vitest"
import { Chunk, Effect, Stream } from "effect"
import { connect, Failures, makeClient, type WatchItem } from "../../../src/http/rpc/client/Package.js"
import { eventually } from "../../support/eventually.js"
import { type FakeRequest, type FakeRpc, startFakeRpc } from "../../support/fakeRpc.js"

const open = new Set<{ readonly close: () => Promise<unknown> }>()
afterEach(async () => {
  for (const one of open) await one.close()
  open.clear()
})

const service = async (answer: (request: FakeRequest) => void) => {
  const started = await startFakeRpc(answer)
  open.add(started)
  return started
}
const options = (fake: FakeRpc) => ({ url: fake.url, key: "svk_test", pause: { first: 5, longest: 20 }, outage: 2_000 })
const client = async (fake: FakeRpc) => {
  const connection = await connect(options(fake))
  open.add(connection)
  return connection
}

const position = (cursor: string) => ({ _tag: "Position", cursor })
const changed = (id: string, cursor: string | null = null) => ({
  _tag: "Changed",
  id,
  status: "completed",
  at: "2026-01-01T00:00:00.000Z",
  cursor
})
const shown = (item: WatchItem | undefined) =>
  item === undefined ? "end" : item._tag === "Changed" ? item.id : item._tag === "Many" ? item.count : item._tag

/** Items of a watch that are read one by one. */
const reader = (watch: AsyncIterable<WatchItem>) => {
  const items = watch[Symbol.asyncIterator]()
  return {
    read: async (count: number) => {
      const found = []
      for (let n = 0; n < count; n++) found.push(shown((await items.next()).value))
      return found
    },
    close: () => items.return?.()
  }
}
const acks = (fake: FakeRpc) => fake.messages.filter(({ _tag }) => _tag === "Ack").length

describe("a watch", () => {
  it("continues at the last cursor that its reader has taken, and no later", async () => {
    const fake = await service(({ chunk, connection, socket }) => {
      if (connection === 1) {
        chunk(position("c0"), changed("a", "c1"), changed("b"), changed("c", "c3"), changed("d", "c4"))
        setTimeout(() => socket.terminate(), 50)
      } else chunk(changed("again", "c9"))
    })
    const { events } = await client(fake)
    const { close, read } = reader(events.watch())
    // The reader still works on b, so that c1 is the last cursor it has taken.
    assert.deepStrictEqual(await read(3), ["Position", "a", "b"])
    await eventually(
      async () => fake.sockets[0]?.readyState,
      (state) => state === 3
    )
    // What has come is read first: it needs no second delivery.
    assert.deepStrictEqual(await read(3), ["c", "d", "again"])
    assert.deepStrictEqual(
      fake.requests.map(({ payload }) => payload),
      [{}, { cursor: "c4" }]
    )
    await close()
  })

  it("is acknowledged when its reader asks for more, chunk by chunk", async () => {
    const fake = await service(({ chunk }) => {
      chunk(position("c0"), changed("a", "c1"))
      chunk(changed("b", "c2"))
    })
    const { events } = await client(fake)
    const { close, read } = reader(events.watch())
    await read(2)
    assert.strictEqual(acks(fake), 0)
    assert.deepStrictEqual(await read(1), ["b"])
    await eventually(
      async () => acks(fake),
      (count) => count === 1
    )
    await close()
    await eventually(
      async () => fake.messages.at(-1)?._tag,
      (tag) => tag === "Interrupt"
    )
    assert.strictEqual(acks(fake), 1)
  })

  it("delivers each change at least once, however often its connection breaks", async () => {
    const count = 60
    const fake = await service(({ chunk, payload, socket }) => {
      const from = Number(payload.cursor ?? 0)
      const end = Math.min(count, from + 1 + (fake.requests.length % 7))
      for (let n = from; n < end; n++) chunk(changed(String(n + 1), (n + 1) % 3 === 0 ? String(n + 1) : null))
      if (end < count) setTimeout(() => socket.terminate(), 2)
    })
    const { executions } = await client(fake)
    const seen = new Set<string>()
    for await (const item of executions.watch({ cursor: "0" })) {
      if (item._tag === "Changed") seen.add(item.id)
      if (seen.has(String(count))) break
    }
    assert.lengthOf([...seen], count)
    assert.isAbove(fake.sockets.length, 5)
  })

  it("tells of a gap if it had no cursor yet, or one that the service no longer takes", async () => {
    const tooOld = {
      code: "INVALID_CURSOR",
      statusCode: 400,
      message: "x",
      requestId: "r",
      retryable: false,
      details: []
    }
    const fake = await service(({ chunk, connection, fail, payload, socket }) => {
      if (connection === 1) socket.close(1012)
      else if (connection === 2) {
        chunk(position("c1"))
        setTimeout(() => socket.terminate(), 20)
      } else if (payload.cursor === "c1") fail({ _tag: "InvalidRequest", ...tooOld })
      else chunk(changed("a", "c2"))
    })
    const { events } = await client(fake)
    const { close, read } = reader(events.watch())
    assert.deepStrictEqual(await read(4), ["Gap", "Position", "Gap", "a"])
    assert.deepStrictEqual(
      fake.requests.map(({ payload }) => payload.cursor),
      [undefined, undefined, "c1", undefined]
    )
    await close()
    const other = await service(({ fail }) => fail({ _tag: "InvalidRequest", ...tooOld }))
    const failure = await reader((await client(other)).events.watch({ cursor: "mine" }))
      .read(1)
      .catch((cause: unknown) => cause)
    assert.instanceOf(failure, Failures.InvalidRequest)
  })

  it("that ends without a failure, or since the node leaves or the reader was slow, is opened again", async () => {
    const busy = { code: "UNAVAILABLE", statusCode: 503, message: "x", requestId: "r", retryable: true, details: [] }
    const fake = await service(({ chunk, fail, succeed }) => {
      const nth = fake.requests.length
      chunk(changed(String(nth), `c${nth}`))
      if (nth === 1) succeed(undefined)
      if (nth === 2) fail({ _tag: "Unavailable", ...busy, retryAfterSeconds: 0.01 })
      if (nth === 3) fake.sockets[0]?.close(1013)
    })
    const { executions } = await client(fake)
    const { close, read } = reader(executions.watch())
    assert.deepStrictEqual(await read(4), ["1", "2", "3", "4"])
    assert.deepStrictEqual(
      fake.requests.map(({ payload }) => payload.cursor),
      [undefined, "c1", "c2", "c3"]
    )
    await close()
  })

  it("fails as the service says, and then ends", async () => {
    const refused = { code: "FORBIDDEN", statusCode: 403, message: "x", requestId: "r", retryable: false, details: [] }
    const fake = await service(({ fail }) => fail({ _tag: "Forbidden", ...refused }))
    const items = (await client(fake)).executions.watch()[Symbol.asyncIterator]()
    assert.instanceOf(await items.next().catch((cause: unknown) => cause), Failures.Forbidden)
    assert.deepStrictEqual(await items.next(), { done: true, value: undefined })
  })

  it("ends when its client closes, or its loop", async () => {
    const fake = await service(({ chunk }) => chunk(position("c1")))
    const connection = await client(fake)
    for await (const item of connection.executions.watch()) if (item._tag === "Position") break
    await eventually(
      async () => fake.messages.some(({ _tag }) => _tag === "Interrupt"),
      (found) => found
    )
    const items = connection.executions.watch()[Symbol.asyncIterator]()
    await items.next()
    const pending = items.next()
    await connection.close()
    assert.deepStrictEqual(await pending, { done: true, value: undefined })
  })

  it("is a stream of effects, too, which takes no item ahead", async () => {
    const fake = await service(({ chunk }) => {
      chunk(changed("a", "c1"))
      chunk(changed("b", "c2"))
      chunk(changed("c", "c3"))
    })
    const program = Effect.gen(function* () {
      const { executions } = yield* makeClient(options(fake))
      return yield* executions.watch().pipe(
        Stream.tap(() => Effect.sleep(20)),
        Stream.map(shown),
        Stream.take(2),
        Stream.runCollect
      )
    })
    assert.deepStrictEqual(Chunk.toReadonlyArray(await Effect.runPromise(Effect.scoped(program))), ["a", "b"])
    assert.strictEqual(acks(fake), 1)
  })
})
