/** A node without a dispatcher: takes events from a stream, and settles them as the statement of a dispatch would. */
import { type Duration, Effect, Layer, Redacted } from "effect"
import { EventStream } from "../../src/actors/ports/event/EventStream.js"
import { BackgroundTasks, makeRegistry } from "../../src/actors/ports/BackgroundTasks.js"
import type { LeasedEvent } from "../../src/actors/ports/run/StartQueue.js"
import { Wakeups } from "../../src/actors/ports/run/Wakeups.js"
import * as DirectStream from "../../src/runtime/postgres/event/DirectStream.js"
import * as StartQueue from "../../src/runtime/postgres/run/StartQueue.js"
import * as JetStream from "../../src/runtime/nats/JetStream.js"
import * as WakeupsLive from "../../src/runtime/process/Wakeups.js"
import { WriterSql } from "./Sql.js"
import { oneOfTwoNodes } from "./ownership.js"
import { noneUnderWay } from "./startQueue.js"

/** What a node has below its stream. Fresh: each node of a test has its own. */
const below = () =>
  Layer.mergeAll(
    Layer.provide(Layer.fresh(StartQueue.layer), oneOfTwoNodes),
    Layer.fresh(WakeupsLive.layer),
    oneOfTwoNodes,
    Layer.sync(BackgroundTasks, makeRegistry)
  )

export const directNode = () => Layer.fresh(DirectStream.layer).pipe(Layer.provideMerge(below()))
export const jetStreamNode = (url: string) =>
  Layer.fresh(JetStream.layer({ url: Redacted.make(url) })).pipe(Layer.provideMerge(below()))

/**
 * Deletes the rows that still have these claims, as the gate of a dispatch, and returns the ids that it deleted: the
 * effects of the events.
 */
export const settleEvents = Effect.fnUntraced(function* (events: ReadonlyArray<LeasedEvent>) {
  const sql = yield* WriterSql
  const rows = yield* sql<{ readonly id: string }>`DELETE FROM start_queue q
    USING unnest(${events.map(({ id }) => id)}::text[], ${events.map(({ claims }) => claims)}::int[]) AS e (id, claims)
    WHERE q.id = e.id AND q.claims = e.claims RETURNING q.id`
  return rows.map(({ id }) => id)
})

/**
 * Dispatches until interrupted: takes into free slots and settles. `effects` gets the id of every effect, so that one
 * that happens twice is seen.
 */
export const dispatch = (effects: Array<string>, slots = 32) =>
  Effect.gen(function* () {
    const stream = yield* EventStream
    const wakeups = yield* Wakeups
    for (;;) {
      const { events } = yield* Effect.orElseSucceed(stream.take([1], slots, noneUnderWay, null), () => ({
        events: []
      }))
      if (events.length === 0) {
        yield* Effect.race(wakeups.awaitQueued, Effect.sleep("100 millis"))
        continue
      }
      effects.push(...(yield* Effect.orElseSucceed(settleEvents(events), () => [])))
      for (const event of events) stream.finish(event)
    }
  })

/** Waits until the condition holds; fails after the given time, saying what there is instead. */
export const awaitUntil = (
  isIt: () => boolean,
  describe: () => unknown,
  patience: Duration.DurationInput = "15 seconds"
) =>
  Effect.sync(isIt).pipe(
    Effect.delay("10 millis"),
    Effect.repeat({ until: (holds) => holds }),
    Effect.timeoutFail({
      duration: patience,
      onTimeout: () => new Error(`still ${JSON.stringify(describe())}`)
    })
  )

/** Waits until there are so many effects. */
export const awaitEffects = (effects: ReadonlyArray<string>, count: number, patience?: Duration.DurationInput) =>
  awaitUntil(
    () => effects.length >= count,
    () => `${effects.length} of ${count}`,
    patience
  )
