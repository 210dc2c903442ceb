/** The port `EventStream` without a broker: nodes take events from the start queue themselves. */
import { Effect, Layer } from "effect"
import { EventStream } from "../../../actors/ports/event/EventStream.js"
import { StartQueue } from "../../../actors/ports/run/StartQueue.js"
import * as EventsInHand from "../../events/EventsInHand.js"

export const layer = Layer.scoped(
  EventStream,
  Effect.gen(function* () {
    const queue = yield* StartQueue
    const inHand = yield* EventsInHand.make()
    return EventStream.of({
      take: (shards, slots, underWay, taker) =>
        Effect.tap(queue.take(shards, slots, underWay, taker), ({ events }) => Effect.sync(() => inHand.add(events))),
      finish: inHand.remove,
      status: Effect.succeed({ driver: "postgres", ok: true, detail: "", carried: 0 })
    })
  })
)
