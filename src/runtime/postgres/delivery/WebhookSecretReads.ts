/** The port `WebhookSecretReads`, cached for less than a second. Values stay sealed in the cache. */
import { Duration, Effect, Layer, Schema } from "effect"
import { type SealedSecret, WebhookSecretReads } from "../../../actors/ports/delivery/WebhookSecrets.js"
import { Secret, SecretVersion } from "../../../domain/access/Secret.js"
import { webhookSecretOverlap } from "../../../domain/Limits.js"
import { WriterSql } from "../database/Pools.js"
import { rowDecoder } from "../record/Table.js"
import { makeReadCache } from "../ReadCache.js"
import { recordsOf } from "../database/DatabaseUnavailable.js"

const maxCachedSecrets = 5_000
/** Values that one request is verified with. */
const maxValues = 8

const decode = rowDecoder(
  "secret_versions",
  Schema.Struct({ ...Secret.stored.pick("id", "type").fields, ...SecretVersion.pick("number", "sealed").fields })
)

export const layer = Layer.effect(
  WebhookSecretReads,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const cache = yield* makeReadCache<ReadonlyArray<SealedSecret>>({ maxEntries: maxCachedSecrets })
    const overlap = Duration.toSeconds(webhookSecretOverlap)

    return WebhookSecretReads.of({
      named: ({ customerId, organisationId, spaceId }, name) =>
        Effect.map(
          cache.get(`${organisationId}|${spaceId}|${customerId}|${name}`, () =>
            recordsOf(
              sql`SELECT s.id, v.number, s.type, v.sealed FROM secrets s
              JOIN secret_versions v ON v.secret_id = s.id AND (v.number = s.current
                OR v.retired_at > now() - make_interval(secs => ${overlap}))
              WHERE s.org = ${organisationId} AND (${spaceId}::text IS NULL OR s.space = ${spaceId}) AND s.name = ${name}
                AND s.deleted_at IS NULL AND (s.customer_id IS NULL OR s.customer_id = ${customerId})
              ORDER BY s.customer_id IS NULL, v.number = s.current DESC, s.id, v.number DESC LIMIT ${maxValues}`,
              decode
            )
          ),
          (found = []) => found
        )
    })
  })
)
