/** Announces API keys that expire soon, once each, as domain events. Part of the hourly maintenance. */
import { Duration, Effect } from "effect"
import { keyExpiryNotice } from "../../../domain/Limits.js"
import { WriterSql } from "../database/Pools.js"

/** Keys that one statement announces; the next pass announces the rest. */
const batchSize = 1_000

/** A claim for each key and expiry makes the announcement unique; a changed expiry is announced anew. */
export const announceExpiringKeys = Effect.flatMap(
  WriterSql,
  (sql) => sql`
    WITH expiring AS (
      SELECT k.id, k.org, k.name, k.expires_at, k.id || '|' || extract(epoch FROM k.expires_at) AS key FROM api_keys k
      WHERE k.revoked_at IS NULL AND k.expires_at > now()
        AND k.expires_at <= now() + ${Duration.toMillis(keyExpiryNotice)} * interval '1 millisecond'
        AND NOT EXISTS (SELECT FROM claims c WHERE c.org = k.org AND c.scope = 'key.expiring'
          AND c.key = k.id || '|' || extract(epoch FROM k.expires_at))
      LIMIT ${batchSize}
    ), announced AS (
      INSERT INTO claims (org, scope, key, target_id, expires_at)
      SELECT org, 'key.expiring', key, id, expires_at FROM expiring ON CONFLICT DO NOTHING RETURNING target_id
    )
    INSERT INTO domain_events (id, org, type, subject, payload)
    SELECT svc_new_id('evt'), e.org, 'key.expiring', e.id, jsonb_build_object('apiKeyId', e.id, 'name', e.name,
      'expiresAt', to_char(e.expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
    FROM expiring e JOIN announced a ON a.target_id = e.id`
)
