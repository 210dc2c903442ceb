import { assert, describe } from "@effect/vitest"
import { Effect, Either, Layer } from "effect"
import { EventStream } from "../../src/actors/ports/event/EventStream.js"
import { StartQueue } from "../../src/actors/ports/run/StartQueue.js"
import { layer as database, ownerSql } from "../support/Database.js"
import { awaitEffects, directNode, dispatch, jetStreamNode, settleEvents } from "../support/eventStream.js"
import { startNats } from "../support/natsServer.js"
import { connect } from "nats"
import { jain } from "../support/jain.js"
import { countBy, empty, enqueue, noneUnderWay, org } from "../support/startQueue.js"
import { layer as withLayer } from "../support/layer.js"

const drivers = [
  { name: "Postgres alone", node: Effect.succeed(directNode) },
  {
    name: "JetStream",
    node: Effect.map(
      startNats(),
      ({ url }) =>
        () =>
          jetStreamNode(url)
    )
  }
]

const countRows = Effect.flatMap(ownerSql, (sql) =>
  Effect.map(sql<{ n: number }>`SELECT count(*)::int AS n FROM start_queue`, ([row]) => row?.n ?? 0)
).pipe(Effect.scoped, Effect.orDie)

/** Takes until `count` events have come. */
const takeAll = Effect.fnUntraced(function* (count: number, slots: number) {
  const stream = yield* EventStream
  const events: Array<Effect.Effect.Success<ReturnType<typeof stream.take>>["events"][number]> = []
  yield* Effect.gen(function* () {
    const taken = yield* stream.take([1], slots, noneUnderWay, null)
    events.push(...taken.events)
    yield* settleEvents(taken.events)
    for (const event of taken.events) stream.finish(event)
    if (taken.events.length === 0) yield* Effect.sleep("5 millis")
  }).pipe(Effect.repeat({ until: () => events.length >= count }))
  return { events }
})

for (const driver of drivers)
  describe(`the event stream over ${driver.name}`, () => {
    withLayer(database, { excludeTestServices: true })((it) => {
      it.scoped("brings every event once, in the shares of the classes and organisations", () =>
        Effect.gen(function* () {
          yield* empty
          yield* enqueue(([1, 2, 3, 4] as const).map((priority) => ({ org: org(1), priority, times: 150 })))
          yield* Effect.gen(function* () {
            const shares = countBy(yield* takeAll(150, 15), ({ priority }) => priority)
            assert.closeTo((shares.get(1) ?? 0) / 150, 8 / 15, 0.1)
            assert.isAtLeast((shares.get(4) ?? 0) / 150, 0.05)
            yield* empty
            const rows = yield* enqueue([
              ...Array.from({ length: 300 }, (_, i) => ({ org: org(0), flow: `cus_${i}`, times: 2 })),
              ...Array.from({ length: 10 }, (_, i) => ({ org: org(i + 1), times: 30 }))
            ])
            const effects: Array<string> = []
            yield* Effect.forkScoped(dispatch(effects))
            yield* awaitEffects(effects, rows.length)
            assert.deepStrictEqual([...effects].sort(), [...rows].sort())
            const order = new Map(rows.map((id, i) => [id, i < 600 ? 0 : 1 + Math.floor((i - 600) / 30)]))
            const first = effects.slice(0, 220).map((id) => order.get(id) ?? -1)
            const counts = Array.from({ length: 11 }, (_, n) => first.filter((one) => one === n).length)
            assert.isAtLeast(jain(counts), 0.95)
          }).pipe(Effect.provide((yield* driver.node)()))
        })
      )

      it.scoped("keeps the order of a lane, and takes the next one when the one before is settled", () =>
        Effect.gen(function* () {
          yield* empty
          const rows = yield* enqueue(Array.from({ length: 12 }, () => ({ org: org(1), lane: "trg_1" })))
          const effects: Array<string> = []
          yield* Effect.gen(function* () {
            yield* Effect.forkScoped(dispatch(effects))
            yield* awaitEffects(effects, rows.length)
          }).pipe(Effect.provide((yield* driver.node)()))
          assert.deepStrictEqual(effects, rows)
        })
      )

      it.scoped("keeps the lease of an event in hand; another node takes it when the lease is no longer kept", () =>
        Effect.gen(function* () {
          yield* empty
          const [id] = yield* enqueue([{ org: org(1) }])
          const node = yield* driver.node
          const held = yield* Effect.gen(function* () {
            const stream = yield* EventStream
            const first = yield* Effect.repeat(stream.take([1], 4, noneUnderWay, null), {
              until: ({ events }) => events.length > 0
            })
            // Longer than the lease and than the broker's time for an acknowledgement.
            yield* Effect.sleep("11 seconds")
            assert.lengthOf((yield* (yield* StartQueue).take([1], 4, noneUnderWay, null)).events, 0)
            assert.lengthOf((yield* stream.take([1], 4, noneUnderWay, null)).events, 0)
            return first.events
          }).pipe(Effect.provide(node()))
          // The first node is gone without a settlement.
          const effects: Array<string> = []
          yield* Effect.gen(function* () {
            yield* Effect.forkScoped(dispatch(effects))
            yield* awaitEffects(effects, 1, "20 seconds")
            assert.deepStrictEqual(effects, [String(id)])
          }).pipe(Effect.provide(node()))
          assert.deepStrictEqual(yield* settleEvents(held), [])
          assert.strictEqual(yield* countRows, 0)
        })
      )

      it.scoped("two nodes settle every event once", () =>
        Effect.gen(function* () {
          yield* empty
          const rows = yield* enqueue(Array.from({ length: 20 }, (_, i) => ({ org: org(i), times: 20 })))
          const node = yield* driver.node
          const effects: Array<string> = []
          for (let i = 0; i < 2; i++) yield* Effect.forkScoped(Effect.scoped(Effect.provide(dispatch(effects), node())))
          yield* awaitEffects(effects, rows.length)
          assert.deepStrictEqual([...effects].sort(), [...rows].sort())
        })
      )
    })
  })

describe("events that a frozen node receives over NATS", () => {
  withLayer(database, { excludeTestServices: true })((it) => {
    it.scoped("cost an event a lease or two, not the ten by which it would become a dead letter", () =>
      Effect.gen(function* () {
        yield* empty
        const { url } = yield* startNats()
        const claims = new Map<string, number>()
        yield* Effect.gen(function* () {
          const stream = yield* EventStream
          const connection = yield* Effect.acquireRelease(
            Effect.promise(() => connect({ servers: url })),
            (one) => Effect.promise(() => one.close())
          )
          const manager = yield* Effect.promise(() => connection.jetstreamManager())
          const [name = ""] = yield* Effect.promise(() => manager.streams.names().next())
          const consumer = yield* Effect.promise(() => connection.jetstream().consumers.get(name, "p2"))
          // It receives what it had asked for, and does nothing with it.
          const receive = Effect.tryPromise(() => consumer.next({ expires: 1_000 }))
          for (let n = 0; n < 8; n++) yield* Effect.forkScoped(Effect.forever(Effect.ignore(receive)))
          const rows: Array<string> = []
          yield* Effect.forkScoped(
            Effect.gen(function* () {
              for (let n = 0; n < 50; n++) {
                rows.push(...(yield* enqueue([{ org: org(n), times: 2 }])))
                yield* Effect.sleep("100 millis")
              }
            })
          )
          while (claims.size < 100) {
            const { events } = yield* stream.take([1], 32, noneUnderWay, null)
            for (const event of events) claims.set(event.id, event.claims)
            yield* settleEvents(events)
            for (const event of events) stream.finish(event)
            yield* Effect.sleep("20 millis")
          }
        }).pipe(Effect.provide(jetStreamNode(url)))
        const most = Math.max(...claims.values())
        assert.isAtLeast(most, 2, "the frozen node has received some")
        assert.isAtMost(most, 3)
      })
    )
  })
})

describe("a pass in which Postgres fails", () => {
  withLayer(database, { excludeTestServices: true })((it) => {
    it.scoped("loses no event that has arrived over NATS", () =>
      Effect.gen(function* () {
        yield* empty
        const owner = yield* ownerSql
        const { url } = yield* startNats()
        yield* Effect.gen(function* () {
          const stream = yield* EventStream
          const rows = yield* enqueue([{ org: org(1), times: 20 }])
          yield* stream.take([1], 20, noneUnderWay, null)
          // They are sent in the background.
          yield* Effect.sleep("300 millis")
          yield* Effect.repeat(stream.status, { until: ({ carried }) => carried === 0 })
          yield* owner.unsafe("ALTER FUNCTION svc_take_queued RENAME TO svc_taken_away")
          assert(Either.isLeft(yield* Effect.either(stream.take([1], 40, noneUnderWay, null))))
          yield* owner.unsafe("ALTER FUNCTION svc_taken_away RENAME TO svc_take_queued")
          const effects: Array<string> = []
          yield* Effect.forkScoped(dispatch(effects))
          yield* awaitEffects(effects, rows.length)
          assert.sameMembers(effects, [...rows])
        }).pipe(Effect.provide(jetStreamNode(url)))
      })
    )
  })
})

describe("a NATS server that cannot serve", () => {
  withLayer(database, { excludeTestServices: true })((it) => {
    it.scoped("is refused at the start, if it has no JetStream", () =>
      Effect.gen(function* () {
        const { url } = yield* startNats({ jetStream: false })
        const started = yield* Effect.either(Effect.scoped(Layer.build(jetStreamNode(url))))
        assert(Either.isLeft(started))
        assert.include(String(started.left), "without JetStream")
      })
    )
  })
})
