/** The port `EndpointSubscriptions`, cached for less than a second and never beyond a change that this node commits. */
import { Effect, Layer } from "effect"
import { EndpointSubscriptions } from "../../../actors/ports/delivery/EndpointSubscriptions.js"
import type { JournalUnavailable } from "../../../actors/ports/run/Journal.js"
import { isSubscribed } from "../../../domain/delivery/OutboundEvent.js"
import { WebhookEndpoint } from "../../../domain/delivery/WebhookEndpoint.js"
import { WriterSql } from "../database/Pools.js"
import { rowDecoder } from "../record/Table.js"
import { makeReadCache } from "../ReadCache.js"
import { journalUnavailable } from "../database/DatabaseUnavailable.js"

const decode = rowDecoder("webhook_endpoints", WebhookEndpoint.stored.pick("id", "url", "events"))

type Subscriber = ReturnType<typeof decode>

export const layer = Layer.effect(
  EndpointSubscriptions,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const subscribers = yield* makeReadCache<ReadonlyArray<Subscriber>, JournalUnavailable>()

    const clock = yield* Effect.clock
    const ofType = (found: ReadonlyArray<Subscriber>, type: string) =>
      found.length === 0 ? found : found.filter(({ events }) => isSubscribed(events, type))

    return EndpointSubscriptions.of({
      cached: (organisation, type) => {
        const found = subscribers.peek(`${organisation}|`, clock.unsafeCurrentTimeMillis())
        return found === undefined ? undefined : ofType(found, type)
      },
      subscribed: (organisation, type) => {
        const load = () =>
          sql`SELECT id, url, events FROM webhook_endpoints WHERE org = ${organisation}`.pipe(
            Effect.mapBoth({ onFailure: journalUnavailable, onSuccess: (rows) => rows.map(decode) })
          )
        return Effect.map(subscribers.get(`${organisation}|`, load), (found = []) => ofType(found, type))
      }
    })
  })
)
