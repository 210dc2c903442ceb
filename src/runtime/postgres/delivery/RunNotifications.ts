/**
 * The port `RunNotifications`: the notification of a run, its deliveries and the journal row of its call are one
 * transaction, which only the owner of the run makes. Those of an account are counted one after the other, so that its
 * limits are exact.
 */
import { Effect, Layer } from "effect"
import { Fenced } from "../../../actors/ports/run/Journal.js"
import { NotificationsExceeded, RunNotifications } from "../../../actors/execution/calls/NotifyCalls.js"
import { Vault } from "../../../actors/ports/Vault.js"
import { WriterSql } from "../database/Pools.js"
import { journalUnavailable } from "../database/DatabaseUnavailable.js"
import { selectOwned } from "../journal/Fence.js"
import { journal } from "../journal/FlushTables.js"
import { encodeEntry } from "../journal/JournalRow.js"
import { countOf } from "../record/Table.js"

/** Locks the run `$1`, then the notifications of the account of `$3`, like those that the API creates. */
const lockSql = `WITH owned AS MATERIALIZED (${selectOwned("$1", "$2")})
  SELECT pg_advisory_xact_lock(hashtextextended(svc_account($3) || 'messages of notifications', 3))::text FROM owned`
const insertEntry = journal.insert("$1", () => false)

const ofHour = "created_at >= date_trunc('hour', now())"
const messagesSql = `SELECT COALESCE(sum(targets), 0)::int AS n FROM notifications
  WHERE org IN (SELECT svc_members(svc_account($1))) AND ${ofHour} AND channel <> 'in_app'`
const inAppSql = `SELECT count(*)::int AS n FROM notifications WHERE org = $1 AND ${ofHour} AND channel = 'in_app'`

export const layer = Layer.effect(
  RunNotifications,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const vault = yield* Vault

    const count = (statement: string, organisation: string) =>
      Effect.map(sql.unsafe(statement, [organisation]), countOf)

    const queue: RunNotifications["Type"]["queue"] = Effect.fnUntraced(function* (
      { organisationId, spaceId },
      { deliveries, notification },
      limits,
      place,
      entry
    ) {
      const sealer = yield* Effect.mapError(vault.of(organisationId), journalUnavailable)
      const {
        body,
        channel,
        createdAt,
        customerId,
        hour,
        id,
        link,
        pending,
        severity,
        source,
        status,
        targets,
        title
      } = notification
      return yield* Effect.gen(function* () {
        const owned = yield* sql.unsafe(lockSql, [[place.id], [place.epoch], organisationId])
        if (owned.length === 0) return yield* new Fenced({ id: place.id })
        if (channel === "in_app") {
          const limit = limits.inApp
          if ((yield* count(inAppSql, organisationId)) >= limit)
            return yield* new NotificationsExceeded({ what: "notifications", limit })
        } else if (limits.messages !== null) {
          const limit = limits.messages
          if ((yield* count(messagesSql, organisationId)) + targets > limit)
            return yield* new NotificationsExceeded({ what: "messages", limit })
        }
        yield* sql`INSERT INTO notifications
            (id, org, space, customer_id, user_id, channel, severity, title, body, link, source, status, pending, targets, hour, created_at)
            VALUES (${id}, ${organisationId}, ${spaceId}, ${customerId}, ${notification.userId}, ${channel}, ${severity}, ${title}, ${body},
              ${link}, ${JSON.stringify(source)}::jsonb, ${status}, ${pending}, ${targets}, ${hour}, ${createdAt})`
        for (const delivery of deliveries)
          yield* sql`INSERT INTO deliveries (id, org, space, kind, url, customer_id, notification_id, payload)
              VALUES (${delivery.id}, ${organisationId}, ${spaceId}, 'notification', ${delivery.url}, ${customerId}, ${id},
                ${delivery.payload})`
        yield* sql.unsafe(insertEntry, [JSON.stringify([encodeEntry(sealer, place, entry)])])
      }).pipe(
        sql.withTransaction,
        Effect.mapError((error) =>
          error._tag === "NotificationsExceeded" || error._tag === "Fenced" ? error : journalUnavailable(error)
        )
      )
    })

    return RunNotifications.of({ queue })
  })
)
