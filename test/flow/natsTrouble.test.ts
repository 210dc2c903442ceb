/**
 * Whatever happens to the NATS server, every event takes effect once. `SVC_TEST_LONG=1` kills it 14 times and leaves it
 * away for a minute.
 */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { connect } from "nats"
import { EventStream } from "../../src/actors/ports/event/EventStream.js"
import { StartQueue } from "../../src/actors/ports/run/StartQueue.js"
import { layer as database } from "../support/Database.js"
import { awaitEffects, awaitUntil, dispatch, jetStreamNode, settleEvents } from "../support/eventStream.js"
import { announce } from "../support/LogExpectations.js"
import { startNatsProxy } from "../support/natsProxy.js"
import { startNats } from "../support/natsServer.js"
import { empty, enqueue, noneUnderWay, org } from "../support/startQueue.js"
import { layer as withLayer } from "../support/layer.js"
import { isLong } from "../support/longForm.js"

const kills = isLong ? 14 : 4
const awayMillis = isLong ? 60_000 : 3_000
const perKill = isLong ? 600 : 300

const expectTrouble = () => announce(/event_stream\.(away|repaired)/)

/** Twenty events each of ten organisations, over all classes. */
const someEvents = (count: number) =>
  enqueue(Array.from({ length: count }, (_, i) => ({ org: org(i % 10), priority: ((i % 4) + 1) as 1 | 2 | 3 | 4 })))

const awaitStream = (isOpen: boolean, patience: string & `${number} seconds`) =>
  Effect.gen(function* () {
    const stream = yield* EventStream
    const open = () => Effect.runSync(stream.status).ok
    yield* awaitUntil(
      () => open() === isOpen,
      () => Effect.runSync(stream.status),
      patience
    )
  })

const sameOnce = (effects: ReadonlyArray<string>, rows: ReadonlyArray<string>) =>
  assert.deepStrictEqual([...effects].sort(), [...rows].sort())

/** The server's API, beside the service. */
const administer = Effect.fnUntraced(function* (url: string) {
  const connection = yield* Effect.acquireRelease(
    Effect.promise(() => connect({ servers: url.slice("nats://".length) })),
    (open) => Effect.promise(() => open.close())
  )
  const manager = yield* Effect.promise(() => connection.jetstreamManager())
  const [stream] = yield* Effect.promise(() => manager.streams.list().next())
  return { connection, manager, stream: stream?.config.name ?? assert.fail("there is no stream") }
})

describe("events over a NATS server", () => {
  withLayer(database, { excludeTestServices: true })((it) => {
    it.scoped(
      "that is killed again and again, also with its store deleted, take effect once",
      () =>
        Effect.gen(function* () {
          expectTrouble()
          yield* empty
          const nats = yield* startNats()
          const effects: Array<string> = []
          const rows: Array<string> = []
          yield* Effect.gen(function* () {
            yield* Effect.forkScoped(dispatch(effects))
            for (let i = 0; i < kills; i++) {
              rows.push(...(yield* someEvents(perKill)))
              yield* Effect.sleep(`${(i * 37) % 90} millis`)
              yield* nats.kill
              if (i % 2 === 1) yield* nats.deleteStore
              rows.push(...(yield* someEvents(20)))
              yield* Effect.sleep("400 millis")
              yield* nats.start
              yield* Effect.sleep("800 millis")
            }
            yield* awaitEffects(effects, rows.length, "60 seconds")
            yield* awaitStream(true, "30 seconds")
          }).pipe(Effect.provide(jetStreamNode(nats.url)))
          sameOnce(effects, rows)
        }),
      isLong ? 300_000 : 120_000
    )

    it.scoped(
      "that is away are dispatched directly within two seconds, and go over it again later",
      () =>
        Effect.gen(function* () {
          expectTrouble()
          yield* empty
          const nats = yield* startNats()
          const effects: Array<string> = []
          yield* Effect.gen(function* () {
            yield* Effect.forkScoped(dispatch(effects))
            const before = yield* someEvents(100)
            yield* awaitEffects(effects, 100)
            yield* nats.kill
            yield* awaitStream(false, "4 seconds")
            const meanwhile = yield* someEvents(100)
            yield* awaitEffects(effects, 200, "4 seconds")
            yield* Effect.sleep(awayMillis)
            yield* nats.start
            yield* awaitStream(true, "30 seconds")
            const after = yield* someEvents(100)
            yield* awaitEffects(effects, 300)
            assert.isTrue((yield* (yield* EventStream).status).ok)
            sameOnce(effects, [...before, ...meanwhile, ...after])
          }).pipe(Effect.provide(jetStreamNode(nats.url)))
        }),
      isLong ? 180_000 : 60_000
    )

    it.scoped("that does not confirm what it stores take effect once, also when it delivers that later", () =>
      Effect.gen(function* () {
        expectTrouble()
        yield* empty
        const nats = yield* startNats()
        const effects: Array<string> = []
        yield* Effect.gen(function* () {
          yield* Effect.forkScoped(dispatch(effects))
          yield* someEvents(20)
          yield* awaitEffects(effects, 20)
          yield* nats.freeze
          const rows = yield* someEvents(200)
          yield* awaitEffects(effects, 220, "20 seconds")
          yield* nats.thaw
          yield* awaitStream(true, "30 seconds")
          const later = yield* someEvents(50)
          yield* awaitEffects(effects, 270)
          sameOnce(effects.slice(20), [...rows, ...later])
        }).pipe(Effect.provide(jetStreamNode(nats.url)))
      })
    )

    it.scoped("whose confirmations never come take effect once, although the server delivers them", () =>
      Effect.gen(function* () {
        expectTrouble()
        yield* empty
        const nats = yield* startNats()
        const proxy = yield* startNatsProxy(nats.port)
        const effects: Array<string> = []
        yield* Effect.gen(function* () {
          yield* Effect.forkScoped(dispatch(effects))
          const rows = yield* someEvents(50)
          yield* awaitEffects(effects, 50)
          yield* proxy.withhold(true)
          rows.push(...(yield* someEvents(300)))
          yield* awaitEffects(effects, 350, "20 seconds")
          yield* awaitStream(false, "10 seconds")
          rows.push(...(yield* someEvents(100)))
          yield* awaitEffects(effects, 450, "20 seconds")
          yield* proxy.withhold(false)
          yield* awaitStream(true, "30 seconds")
          rows.push(...(yield* someEvents(50)))
          yield* awaitEffects(effects, 500, "20 seconds")
          sameOnce(effects, rows)
          assert.isAbove(proxy.withheld(), 0)
        }).pipe(Effect.provide(jetStreamNode(proxy.url)))
      })
    )

    it.scoped("whose consumers and stream are deleted take effect once, and the service makes them again", () =>
      Effect.gen(function* () {
        expectTrouble()
        yield* empty
        const nats = yield* startNats()
        const effects: Array<string> = []
        yield* Effect.gen(function* () {
          yield* Effect.forkScoped(dispatch(effects))
          const { manager, stream } = yield* administer(nats.url)
          yield* Effect.promise(() => manager.consumers.delete(stream, "p2"))
          const rows = yield* someEvents(100)
          yield* awaitEffects(effects, 100)
          yield* Effect.promise(() => manager.streams.delete(stream))
          rows.push(...(yield* someEvents(100)))
          yield* awaitEffects(effects, 200)
          yield* awaitStream(true, "30 seconds")
          rows.push(...(yield* someEvents(100)))
          yield* awaitEffects(effects, 300)
          sameOnce(effects, rows)
          const consumers = yield* Effect.promise(() => manager.consumers.list(stream).next())
          assert.sameMembers(
            consumers.map(({ name }) => name),
            ["p1", "p2", "p3", "p4"]
          )
        }).pipe(Effect.provide(jetStreamNode(nats.url)))
      })
    )

    it.scoped("whose consumer delivers to somebody else take effect once, directly", () =>
      Effect.gen(function* () {
        expectTrouble()
        yield* empty
        const nats = yield* startNats()
        const effects: Array<string> = []
        yield* Effect.gen(function* () {
          const { connection, stream } = yield* administer(nats.url)
          // Takes messages of the class and does nothing with them.
          const consumer = yield* Effect.promise(() => connection.jetstream().consumers.get(stream, "p2"))
          yield* Effect.promise(() => consumer.consume({ callback: () => undefined, max_messages: 500 }))
          yield* Effect.forkScoped(dispatch(effects))
          const rows = yield* enqueue([{ org: org(1), priority: 2, times: 200 }])
          yield* awaitEffects(effects, 200, "30 seconds")
          sameOnce(effects, rows)
        }).pipe(Effect.provide(jetStreamNode(nats.url)))
      })
    )

    it.scoped("bring a repeated claim through the server's duplicate window", () =>
      Effect.gen(function* () {
        yield* empty
        const nats = yield* startNats()
        yield* Effect.gen(function* () {
          const stream = yield* EventStream
          const queue = yield* StartQueue
          yield* enqueue([{ org: org(1) }])
          const next = Effect.repeat(Effect.delay(stream.take([1], 4, noneUnderWay, null), "5 millis"), {
            until: ({ events }) => events.length > 0
          })
          for (let claims = 1; claims <= 5; claims++) {
            const [event] = (yield* next).events
            assert.strictEqual(event?.claims, claims)
            if (event === undefined) continue
            if (claims === 5) assert.lengthOf(yield* settleEvents([event]), 1)
            else yield* queue.release([event.id])
            stream.finish(event)
          }
          assert.isTrue((yield* stream.status).ok)
        }).pipe(Effect.provide(jetStreamNode(nats.url)))
      })
    )
  })
})
