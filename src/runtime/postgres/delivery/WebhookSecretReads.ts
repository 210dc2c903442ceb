/** The port `WebhookSecretReads`, cached for less than a second. Values stay sealed in the cache. */
import { Duration, Effect, Layer } from "effect"
import { type SealedSecret, WebhookSecretReads } from "../../../actors/ports/delivery/WebhookSecretReads.js"
import { webhookSecretOverlap } from "../../../domain/Limits.js"
import { WriterSql } from "../database/Pools.js"
import { makeReadCache } from "../ReadCache.js"
import { rowsOf } from "../database/DatabaseUnavailable.js"

const maxCachedSecrets = 5_000
/** Values that one request is verified with. */
const maxValues = 8

export const layer = Layer.effect(
  WebhookSecretReads,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const cache = yield* makeReadCache<ReadonlyArray<SealedSecret>>({ maxEntries: maxCachedSecrets })
    const overlap = Duration.toSeconds(webhookSecretOverlap)

    return WebhookSecretReads.of({
      named: ({ customerId, organisationId, spaceId }, name) =>
        Effect.map(
          cache.get(
            `${organisationId}|${spaceId}|${customerId}|${name}`,
            rowsOf(sql<SealedSecret>`SELECT s.id, v.number, s.type, v.sealed FROM secrets s
              JOIN secret_versions v ON v.secret_id = s.id AND (v.number = s.current
                OR v.retired_at > now() - make_interval(secs => ${overlap}))
              WHERE s.org = ${organisationId} AND (${spaceId}::text IS NULL OR s.space = ${spaceId}) AND s.name = ${name}
                AND s.deleted_at IS NULL AND (s.customer_id IS NULL OR s.customer_id = ${customerId})
              ORDER BY s.customer_id IS NULL, v.number = s.current DESC, s.id, v.number DESC LIMIT ${maxValues}`)
          ),
          (found = []) => found
        )
    })
  })
)
