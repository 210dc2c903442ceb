/** Many schedules of one minute whose ticks are spread over the minute, and what became of each tick. */
import { assert } from "vitest"
import type { Api } from "./api.js"
import { counted } from "./promises.js"

type Sql = <Row extends object>(text: string) => Promise<ReadonlyArray<Row>>

/** The ids of the copies. */
const like = "trg_0000000000000000000000%"

/** What became of the ticks that are due: each has to be delivered, and its run completed, once. */
interface TickSummary {
  readonly ticks: number
  readonly delivered: number
  readonly runs: number
  readonly completed: number
  readonly others: number
}

export interface TickSchedules {
  readonly fired: () => Promise<number>
  /** Waits until each tick until this time has a run that has ended, and summarises them. */
  readonly ended: (until: Date, millis?: number) => Promise<TickSummary>
  /** Of the ticks until this time. */
  readonly summarise: (until: Date) => Promise<TickSummary>
  /** The ticks until this time that were not delivered once, or have not one completed run. */
  readonly wrong: (until: Date) => Promise<ReadonlyArray<object>>
  readonly remove: () => Promise<void>
}

/** Creates so many schedules of a workflow. Each has missed a few ticks, which it catches up. */
export const makeTickSchedules = async (
  client: Api,
  sql: Sql,
  { flow, missed, schedules }: { readonly flow: string; readonly schedules: number; readonly missed: number }
): Promise<TickSchedules> => {
  const made = await client.call("POST", "/api/v1/triggers", {
    type: "schedule",
    name: "ticks",
    routes: [{ workflowId: flow }],
    schedule: { mode: "interval", every: { n: 1 }, catchUp: "all", overlap: "allow" }
  })
  assert.strictEqual(made.status, 201, JSON.stringify(made.body))
  const { id } = made.body.data
  assert.strictEqual((await client.call("POST", `/api/v1/triggers/${id}/disable`, {})).status, 200)
  const begin = new Date(Date.now() + 1_000 - missed * 60_000).toISOString()
  await sql(
    `INSERT INTO triggers (id, org, space, type, name, status, routes, workflow_ids, environments, delivery, schedule, created_by)
     SELECT 'trg_0000000000000000000000' || lpad(n::text, 4, '0'), org, space, type, name, 'active', routes, workflow_ids,
       environments, delivery, schedule || jsonb_build_object('startsAt',
         to_char(('${begin}'::timestamptz + n * interval '1 minute' / ${schedules}) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')),
       created_by
     FROM triggers, generate_series(0, ${schedules - 1}) n WHERE id = '${id}'`
  )
  await sql(
    `INSERT INTO trigger_states (trigger_id, org, next_fire_at)
     SELECT id, org, (schedule->>'startsAt')::timestamptz FROM triggers WHERE id LIKE '${like}'`
  )

  const runs = `SELECT record->'trigger'->>'eventId' AS event, count(*) AS all_runs,
      count(*) FILTER (WHERE status = 'completed') AS completed FROM executions GROUP BY 1`
  const fired = `SELECT r.trigger_id AS id, (r.payload->>'scheduledFor')::timestamptz AS at, r.status,
      COALESCE(x.all_runs, 0) AS runs, COALESCE(x.completed, 0) AS completed
    FROM event_records r LEFT JOIN runs x ON x.event = r.id WHERE r.trigger_id LIKE '${like}'`
  /** A row for each tick. */
  const each = (until: Date) => `WITH runs AS MATERIALIZED (${runs}), fired AS MATERIALIZED (${fired}),
      ticks AS MATERIALIZED (SELECT t.id, at FROM triggers t,
        generate_series((t.schedule->>'startsAt')::timestamptz, '${until.toISOString()}', interval '1 minute') at
        WHERE t.id LIKE '${like}'),
      each AS (SELECT t.id, t.at, count(*) FILTER (WHERE f.status = 'delivered') AS delivered,
          COALESCE(sum(f.runs), 0) AS runs, COALESCE(sum(f.completed), 0) AS completed,
          count(*) FILTER (WHERE f.status NOT IN ('delivered', 'duplicate')) AS others
        FROM ticks t LEFT JOIN fired f USING (id, at) GROUP BY 1, 2)`

  /** Schedules that are due, their events that wait in the queue, and their runs that are open. */
  const underWay = async (until: Date): Promise<number> => {
    const isDue = (payload: string) => `(${payload}->>'scheduledFor')::timestamptz <= '${until.toISOString()}'`
    const [found] = await sql<{ n: number }>(
      `SELECT ((SELECT count(*) FROM trigger_states
            WHERE trigger_id LIKE '${like}' AND next_fire_at <= '${until.toISOString()}')
          + (SELECT count(*) FROM events e JOIN start_queue q USING (id)
            WHERE e.trigger_id LIKE '${like}' AND ${isDue("e.payload")})
          + (SELECT count(*) FROM runs o JOIN event_records r ON r.id = o.record->'trigger'->>'eventId'
            WHERE r.trigger_id LIKE '${like}' AND ${isDue("r.payload")}))::int AS n`
    )
    return found?.n ?? assert.fail("what is under way is not known")
  }
  const summarise = async (until: Date): Promise<TickSummary> => {
    const [found] = await sql<TickSummary>(
      `${each(until)} SELECT count(*)::int AS ticks, count(*) FILTER (WHERE delivered = 1)::int AS delivered,
        sum(runs)::int AS runs, sum(completed)::int AS completed, sum(others)::int AS others FROM each`
    )
    return found ?? assert.fail("the ticks have no summary")
  }

  return {
    fired: async () =>
      (await sql<{ n: number }>(`SELECT count(*)::int AS n FROM event_records WHERE trigger_id LIKE '${like}'`))[0]
        ?.n ?? 0,
    ended: (until, millis) =>
      counted({
        what: "a tick is lost",
        ask: () => summarise(until),
        found: ({ runs, ticks }) => runs >= ticks,
        underWay: () => underWay(until),
        ...(millis === undefined ? {} : { millis })
      }),
    summarise,
    wrong: (until) =>
      sql(`${each(until)} SELECT * FROM each WHERE (delivered, runs, completed, others) <> (1, 1, 1, 0) ORDER BY at`),
    remove: async () => {
      await sql(`UPDATE triggers SET status = 'disabled' WHERE id LIKE '${like}'`)
      await sql(`DELETE FROM trigger_states WHERE trigger_id LIKE '${like}'`)
    }
  }
}
