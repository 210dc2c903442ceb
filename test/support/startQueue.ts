/** The start queue on a fresh database, with rows of events that a test inserts itself. */
import { Effect, Layer } from "effect"
import type { LeasedEvent, TakenWork } from "../../src/actors/ports/run/StartQueue.js"
import type { OrganisationId } from "../../src/domain/Ids.js"
import * as StartQueue from "../../src/runtime/postgres/run/StartQueue.js"
import { layer as database, ownerSql } from "./Database.js"
import { oneOfTwoNodes } from "./ownership.js"

/** A new queue on the test's database: what a restarted process would have, by default beside another one. */
export const newQueue = (node = oneOfTwoNodes) => Layer.provide(Layer.fresh(StartQueue.layer), node)

export const layer = Layer.provideMerge(newQueue(), database)

/** Fixed, so that tests read like tables: `org(3)`. */
export const org = (n: number) => `org_${String(n).padStart(26, "0")}` as OrganisationId

export const noneUnderWay: ReadonlyMap<OrganisationId, number> = new Map()

export interface QueuedRow {
  readonly org: OrganisationId
  readonly priority?: 1 | 2 | 3 | 4
  readonly flow?: string
  readonly lane?: string
  readonly held?: boolean
  /** How many equal rows. Default: 1. */
  readonly times?: number
  readonly shard?: number
  /** Seconds until the row may start. Default: 0. */
  readonly delay?: number
}

/** Inserts rows of events in their order, and returns their ids. */
export const enqueue = Effect.fnUntraced(function* (rows: ReadonlyArray<QueuedRow>) {
  const sql = yield* ownerSql
  const inserted = yield* sql<{ readonly id: string }>`
    INSERT INTO start_queue (org, id, shard, priority, flow, lane, held, not_before)
    SELECT t.org, 'evt_' || gen_random_uuid(), COALESCE(t.shard, 1), COALESCE(t.priority, 2), COALESCE(t.flow, ''), t.lane,
      COALESCE(t.held, false), now() + COALESCE(t.delay, 0) * interval '1 second'
    FROM ROWS FROM (json_to_recordset(${JSON.stringify(rows)}::json)
        AS (org text, priority int, flow text, lane text, held boolean, times int, shard int, delay int))
      WITH ORDINALITY AS t (org, priority, flow, lane, held, times, shard, delay, nth),
      generate_series(1, COALESCE(t.times, 1)) AS i ORDER BY t.nth, i RETURNING id`
  return inserted.map(({ id }) => id)
}, Effect.scoped)

/** Removes the rows of settled events. */
export const settle = Effect.fnUntraced(function* (events: ReadonlyArray<LeasedEvent>) {
  const sql = yield* ownerSql
  yield* sql`DELETE FROM start_queue WHERE id = ANY(${events.map(({ id }) => id)}::text[])`
}, Effect.scoped)

export const empty = Effect.gen(function* () {
  const sql = yield* ownerSql
  yield* sql`TRUNCATE start_queue, queue_organisations, queue_flows, lanes`
  yield* sql`UPDATE queue_classes SET lag = 0, turn = ''`
}).pipe(Effect.scoped)

/** How many of the events have each value. */
export const countBy = <K extends string | number>(
  { events }: Pick<TakenWork, "events">,
  key: (event: LeasedEvent) => K
) => {
  const counts = new Map<K, number>()
  for (const event of events) counts.set(key(event), (counts.get(key(event)) ?? 0) + 1)
  return counts
}
