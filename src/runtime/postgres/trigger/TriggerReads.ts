/** The port `TriggerReads`, cached for less than a second. */
import { Effect, Layer } from "effect"
import { TriggerReads } from "../../../actors/ports/event/Triggers.js"
import type { Trigger } from "../../../domain/trigger/Trigger.js"
import { matchesEventType } from "../../../domain/trigger/TriggerChecks.js"
import { WriterSql } from "../database/Pools.js"
import { makeReadCache } from "../ReadCache.js"
import { tables } from "../record/RecordTables.js"
import { selectColumns } from "../record/Table.js"
import { recordsOf } from "../database/DatabaseUnavailable.js"

const { triggers } = tables

/** A trigger may have a megabyte, so that the caches hold fewer than those of small records. */
const maxEntries = 2_000
/** Triggers of one organisation that one event can match. */
const maxMatches = 10_000

const idForm = /^trg_[0-9a-z]{26}$/
const columns = selectColumns(triggers)

export const layer = Layer.effect(
  TriggerReads,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const one = yield* makeReadCache<Trigger>({
      maxEntries,
      organisationOf: (_key, { organisationId }) => organisationId
    })
    const lists = yield* makeReadCache<ReadonlyArray<Trigger>>({ maxEntries })

    const select = (condition: string, values: ReadonlyArray<unknown>, limit: number) =>
      recordsOf(
        sql.unsafe(`SELECT ${columns} FROM triggers WHERE ${condition} ORDER BY id LIMIT ${limit}`, values),
        triggers.decode
      )

    const isActive = "status = 'active' AND deleted_at IS NULL"

    return TriggerReads.of({
      byId: (id) =>
        idForm.test(id)
          ? one.find(id, () => Effect.map(select("id = $1", [id], 1), ([found]) => found))
          : Effect.succeedNone,
      ofConnector: (organisation, connector, event) =>
        Effect.map(
          lists.get(`${organisation}|${connector}|${event}`, () =>
            select(
              `type = 'app_event' AND ${isActive} AND org = $1 AND app_event->>'connector' = $2 AND app_event->>'event' = $3`,
              [organisation, connector, event],
              maxMatches
            )
          ),
          (found) => found ?? []
        ),
      ofEvent: (organisation, type) =>
        Effect.map(
          lists.get(`${organisation}|`, () =>
            select(`type = 'event' AND ${isActive} AND org = $1`, [organisation], maxMatches)
          ),
          (found = []) => found.filter(({ event }) => event !== null && matchesEventType(event.type, type))
        )
    })
  })
)
