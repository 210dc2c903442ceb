/** The port `EndpointSubscriptions`, cached for less than a second and never beyond a change that this node commits. */
import { Effect, Layer } from "effect"
import { EndpointSubscriptions } from "../../../actors/ports/delivery/EndpointSubscriptions.js"
import type { JournalUnavailable } from "../../../actors/ports/run/Journal.js"
import { isSubscribed } from "../../../domain/delivery/OutboundEvent.js"
import type { WebhookEndpoint } from "../../../domain/delivery/WebhookEndpoint.js"
import { WriterSql } from "../database/Pools.js"
import { makeReadCache } from "../ReadCache.js"
import { journalUnavailable } from "../database/DatabaseUnavailable.js"

type Subscriber = Pick<WebhookEndpoint, "id" | "url" | "events">

export const layer = Layer.effect(
  EndpointSubscriptions,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const subscribers = yield* makeReadCache<ReadonlyArray<Subscriber>, JournalUnavailable>()

    return EndpointSubscriptions.of({
      subscribed: (organisation, type) => {
        const load = sql<Subscriber>`SELECT id, url, events FROM webhook_endpoints WHERE org = ${organisation}`.pipe(
          Effect.mapError(journalUnavailable)
        )
        return Effect.map(subscribers.get(`${organisation}|`, load), (found = []) =>
          found.filter(({ events }) => isSubscribed(events, type))
        )
      }
    })
  })
)
