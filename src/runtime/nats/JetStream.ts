/**
 * The port `EventStream` over JetStream. The relay takes events from the start queue in their fair order, only into free
 * slots, and publishes their ids; consumers receive them and take over the leases. The queue's rows and their claims
 * decide: a message that was lost, delayed or repeated starts nothing twice. While the broker is away, nodes take events
 * from the queue directly.
 */
import { Array as Arr, Clock, Duration, Effect, Layer, Redacted, Schema } from "effect"
import { backgroundTask, repeatEvery } from "../../actors/BackgroundTask.js"
import { EventStream } from "../../actors/ports/event/EventStream.js"
import { Faults, withFaultPoints } from "../../actors/ports/Faults.js"
import { Ownership } from "../../actors/ports/Ownership.js"
import { type LeasedEvent, StartQueue, type TakenWork } from "../../actors/ports/run/StartQueue.js"
import { Wakeups } from "../../actors/ports/run/Wakeups.js"
import type { EventId } from "../../domain/Ids.js"
import * as EventsInHand from "../events/EventsInHand.js"
import { WriterSql } from "../postgres/database/Pools.js"
import { OperatorError, reasonOf } from "../process/OperatorError.js"
import { makeCarriedEvents } from "./CarriedEvents.js"
import type { ReceivedNotice, CarriedMessage, Link } from "./Link.js"
import { rowDecoder } from "../postgres/record/Table.js"

export interface JetStreamOptions {
  readonly url: Redacted.Redacted
}

/** Events that the broker may carry for this node at once. */
const mostCarried = 64
/** An event that the broker has not delivered after this time goes the direct way, and so do all until it works again. */
const patience = Duration.seconds(2)
/** One that another node may have received and not taken goes the direct way earlier, and the broker stays in use. */
const patienceWithNode = Duration.millis(600)
const watchInterval = Duration.millis(500)
/** How often the stream and its consumers are compared with their definitions. */
const repairInterval = Duration.seconds(5)
/** Less than the server's time for an acknowledgement. */
const keepInterval = Duration.millis(1_500)
/** So many events that were recalled, and not yet taken again, are remembered. */
const mostRecalled = 1_000
/** Pauses between attempts to use the broker again, in milliseconds. */
const retryPause = { first: 500, longest: 10_000 } as const
/** After this time of good service the first pause is short again. */
const goodService = Duration.seconds(30)

const nothing: TakenWork = { runs: [], events: [], passedOver: [], firstWaiting: 1 }

/** Tells installations on one NATS server apart. */
const decodeInstallation = rowDecoder("pg_control_system", { name: Schema.String })
const installationSql = `SELECT substr(md5(current_database() || s.system_identifier::text), 1, 16) AS name
  FROM pg_control_system() s`

/** What is known of the broker. */
type BrokerState =
  | { readonly _tag: "Open"; readonly since: number; readonly repairAt: number }
  | { readonly _tag: "Away"; readonly reason: string; readonly retryAt: number }

export const layer = ({ url }: JetStreamOptions) =>
  Layer.scoped(
    EventStream,
    Effect.gen(function* () {
      const queue = yield* StartQueue
      const wakeups = yield* Wakeups
      const ownership = yield* Ownership
      const faults = yield* Faults
      const clock = yield* Effect.clock
      const sql = yield* WriterSql
      const [installation] = (yield* sql.unsafe(installationSql)).map(decodeInstallation)

      const scope = yield* Effect.scope
      const carried = makeCarriedEvents()
      /** The broker's messages of events in hand, to be kept and acknowledged. */
      const messages = new Map<EventId, CarriedMessage>()
      const received: Array<CarriedMessage> = []
      const receivedLatch = yield* Effect.makeLatch(false)
      let link: Link | undefined
      let state: BrokerState = { _tag: "Away", reason: "not yet connected", retryAt: 0 }
      let pauseMillis: number = retryPause.first
      /** Classes with events that were late: their consumers are made anew. */
      const silent = new Set<number>()
      /**
       * Events that were late. This node, if it takes them again, does not send them again: each time would cost a claim, and a
       * node that is frozen may receive all of them.
       */
      const recalled = new Set<EventId>()

      const acknowledge = ({ claims, id }: Pick<LeasedEvent, "id" | "claims">) => {
        const message = messages.get(id)
        if (message?.notice.claims !== claims) return
        messages.delete(id)
        message.ack()
      }
      const inHand = yield* EventsInHand.make((lost) => {
        for (const event of lost) {
          carried.drop(event)
          acknowledge(event)
        }
      })

      /** When an event was last delivered, to any node. */
      let arrivedAt = 0
      const onDelivery = (delivery: CarriedMessage) => {
        arrivedAt = clock.unsafeCurrentTimeMillis()
        // A repeated delivery of an event in hand: only its newest message can be acknowledged.
        if (inHand.has(delivery.notice)) messages.set(delivery.notice.id, delivery)
        else {
          received.push(delivery)
          receivedLatch.unsafeOpen()
        }
      }

      /** What another node has received is not on its way here any more. */
      const onArrivals = (arrivals: ReadonlyArray<ReceivedNotice>) => {
        arrivedAt = clock.unsafeCurrentTimeMillis()
        for (const arrival of arrivals) carried.land(arrival)
        wakeups.signalQueued()
      }

      /** Events that are on their way go the direct way. Their messages have an old claim and start nothing. */
      const recall = Effect.fnUntraced(function* (events: ReadonlyArray<LeasedEvent>) {
        if (events.length === 0) return
        for (const event of events) {
          silent.add(event.priority)
          carried.land(event)
          recalled.add(event.id)
        }
        for (const id of recalled) {
          if (recalled.size <= mostRecalled) break
          recalled.delete(id)
        }
        yield* queue.release(events.map(({ id }) => id))
        wakeups.signalQueued()
      })

      const markAway = Effect.fnUntraced(function* (reason: string) {
        if (state._tag === "Away") return
        const now = yield* Clock.currentTimeMillis
        if (now - state.since > Duration.toMillis(goodService)) pauseMillis = retryPause.first
        state = { _tag: "Away", reason, retryAt: now + pauseMillis }
        pauseMillis = Math.min(pauseMillis * 2, retryPause.longest)
        yield* Effect.annotateLogs(Effect.logWarning("event_stream.away"), { reason })
        yield* recall(carried.olderThan(Infinity))
        wakeups.signalQueued()
      })

      // --- Relay ---

      const publish = Effect.fnUntraced(function* (current: Link, events: ReadonlyArray<LeasedEvent>) {
        carried.send(events, yield* Clock.currentTimeMillis)
        yield* Effect.forEach(
          events,
          ({ claims, id, priority }) =>
            withFaultPoints(
              faults,
              "beforePublish",
              Effect.tryPromise(() => current.publish({ id, priority, claims })),
              "published"
            ),
          { concurrency: "unbounded", discard: true }
        ).pipe(Effect.catchAll(({ error }) => markAway(`a message was not stored: ${reasonOf(error)}`)))
      })

      const take: StartQueue["Type"]["take"] = Effect.fnUntraced(function* (shards, slots, underWay, taker) {
        // Arrived events are taken last: if the statement fails, the next pass must find them.
        const arrived = Math.min(slots, carried.arrivedCount())
        const room = slots - carried.size()
        const current = state._tag === "Open" ? link : undefined
        const limit = current === undefined ? room : Math.min(room, mostCarried - carried.carriedCount())
        if (limit <= 0) return { ...nothing, events: carried.take(arrived) }
        const taken = yield* queue.take(shards, limit, carried.countByAccount(underWay), taker)
        const events = carried.take(arrived)
        if (current === undefined) {
          inHand.add(taken.events)
          return { ...taken, events: [...events, ...taken.events] }
        }
        const [relayed, late] = Arr.partition(taken.events, ({ id }) => recalled.delete(id))
        inHand.add(late)
        if (relayed.length > 0) yield* Effect.forkIn(publish(current, relayed), scope)
        return { ...taken, events: [...events, ...late] }
      })

      // --- Receiving ---

      const adoptReceived = Effect.gen(function* () {
        const batch = received.splice(0)
        if (batch.length === 0) return
        const adopted = yield* queue.adopt(batch.map(({ notice }) => notice))
        const byId = new Map(adopted.map((event) => [event.id, event]))
        const current = link
        if (current?.isConnected() === true && !ownership.isAlone)
          yield* Effect.ignore(Effect.try(() => current.tellArrived(batch.map(({ notice }) => notice))))
        for (const delivery of batch) {
          const event = byId.get(delivery.notice.id)
          carried.land(delivery.notice)
          if (event === undefined || event.claims !== delivery.notice.claims) delivery.ack()
          else if (inHand.has(event)) messages.set(event.id, delivery)
          else {
            messages.set(event.id, delivery)
            inHand.add([event])
            carried.arrive(event)
          }
        }
        yield* faults.at("acked")
        wakeups.signalQueued()
      })

      // --- The broker ---

      const connect = Effect.gen(function* () {
        link?.close().catch(() => undefined)
        link = undefined
        link = yield* Effect.tryPromise({
          // The client is loaded only where a server is named.
          try: async () => {
            const { openLink } = await import("./Link.js")
            const name = installation?.name ?? "svc"
            return openLink({ url: Redacted.value(url), installation: name, onDelivery, onArrivals })
          },
          catch: (error) => error
        })
        return link
      })

      const open = Effect.gen(function* () {
        const current = link?.isConnected() === true ? link : yield* connect
        yield* Effect.tryPromise({ try: () => current.prepare(silent), catch: (error) => error })
        silent.clear()
        const now = yield* Clock.currentTimeMillis
        state = { _tag: "Open", since: now, repairAt: now + Duration.toMillis(repairInterval) }
        yield* Effect.logInfo("event_stream.open")
      }).pipe(
        Effect.timeoutFail({ duration: "5 seconds", onTimeout: () => new Error("the NATS server does not answer") })
      )

      const retry = Effect.fnUntraced(function* (now: number) {
        yield* Effect.catchAll(open, (error) =>
          Effect.sync(() => {
            state = { _tag: "Away", reason: reasonOf(error), retryAt: now + pauseMillis }
            pauseMillis = Math.min(pauseMillis * 2, retryPause.longest)
          })
        )
      })

      /** Events that should have arrived. Forgets those that another node has received. */
      const findLate = Effect.fnUntraced(function* (now: number) {
        const slow = carried.olderThan(now - Duration.toMillis(watchInterval))
        if (slow.length === 0) return []
        const ours = new Set(yield* queue.renew(slow.map(({ id }) => id)))
        for (const event of slow) if (!ours.has(event.id)) carried.land(event)
        return carried.olderThan(now - Duration.toMillis(ownership.isAlone ? patience : patienceWithNode))
      })

      const watch = Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const late = yield* findLate(now)
        if (late.length > 0) {
          yield* recall(late)
          if (ownership.isAlone || now - arrivedAt > Duration.toMillis(patience))
            yield* markAway(`${late.length} events were not delivered within ${Duration.toSeconds(patience)} s`)
        }
        if (state._tag === "Away") {
          if (now >= state.retryAt) yield* retry(now)
          return
        }
        if (link?.isConnected() !== true) return yield* markAway("the NATS server cannot be reached")
        if (now < state.repairAt) return
        state = { ...state, repairAt: now + Duration.toMillis(repairInterval) }
        const current = link
        const repaired = yield* Effect.tryPromise(() => current.repair()).pipe(
          Effect.catchAll(({ error }) => Effect.as(markAway(reasonOf(error)), false))
        )
        if (repaired) yield* Effect.logWarning("event_stream.repaired")
      })

      const keep = Effect.sync(() => {
        for (const message of messages.values()) message.keep()
      })

      // A server that cannot serve is refused at the start; one that is away is not waited for.
      yield* Effect.catchAll(open, (error) =>
        error instanceof OperatorError
          ? Effect.fail(error)
          : Effect.gen(function* () {
              const now = yield* Clock.currentTimeMillis
              state = { _tag: "Away", reason: reasonOf(error), retryAt: now + pauseMillis }
              yield* Effect.annotateLogs(Effect.logWarning("event_stream.away"), { reason: reasonOf(error) })
            })
      )
      yield* Effect.addFinalizer(() => Effect.ignore(Effect.tryPromise(async () => link?.close())))

      const receiving = yield* backgroundTask("events.receive", adoptReceived)
      const watching = yield* backgroundTask("events.watch_stream", watch)
      const keeping = yield* backgroundTask("events.keep_messages", keep)
      const awaitReceived = Effect.zipLeft(receivedLatch.await, receivedLatch.close)
      yield* Effect.zipRight(awaitReceived, receiving.run).pipe(Effect.forever, Effect.interruptible, Effect.forkScoped)
      yield* repeatEvery(watchInterval, watching.run)
      yield* repeatEvery(keepInterval, keeping.run)

      return EventStream.of({
        take,
        finish: (event) => {
          inHand.remove(event)
          acknowledge(event)
        },
        status: Effect.sync(() => ({
          driver: "jetstream" as const,
          ok: state._tag === "Open",
          detail: state._tag === "Open" ? "" : state.reason,
          carried: carried.carriedCount()
        }))
      })
    })
  )
