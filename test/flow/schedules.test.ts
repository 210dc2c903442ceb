/** Schedules: each tick fires once, on several nodes at once, over restarts and wrong clocks; skipped ticks are visible. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { task } from "../../src/actors/pipeline/ScheduleSweep.js"
import { WriterSql } from "../support/Sql.js"
import { startCalls, stopCalls, svc, workflow } from "../support/calls.js"
import { eventually } from "../support/eventually.js"

let flow: string
beforeAll(async () => {
  await startCalls()
  flow = await workflow("return ctx.input")
})
afterAll(() => stopCalls())

const sql = <A extends object>(text: string) => svc.run(Effect.flatMap(WriterSql, (writer) => writer.unsafe<A>(text)))
const ask = async (method: string, target: string, body?: unknown) => {
  const answer = await svc.ask(method, target, { key: svc.first.key, ...(body === undefined ? {} : { body }) })
  assert.isBelow(answer.status, 300, answer.text)
  return answer.body.data
}
const schedule = (settings: object, more: object = {}) =>
  ask("POST", "/api/v1/triggers", {
    type: "schedule",
    name: "ticks",
    routes: [{ workflowId: flow, payload: { from: "schedule" } }],
    schedule: settings,
    ...more
  })
/** Makes the schedule due since a while ago; `at` is a tick. */
const setDue = (id: string, at: number) =>
  sql(`UPDATE trigger_states SET next_fire_at = '${new Date(at).toISOString()}' WHERE trigger_id = '${id}'`)

interface Row {
  readonly status: string
  readonly at: string
  readonly reason: string | null
  readonly skipped: number | null
  readonly deliveries: ReadonlyArray<{ readonly executionId: string }> | null
}
const eventsOf = (id: string) =>
  sql<Row>(
    `SELECT status, payload->>'scheduledFor' AS at, record->>'ignoredBecause' AS reason, (payload->>'skipped')::int AS skipped,
       deliveries FROM event_records WHERE trigger_id = '${id}'
     UNION ALL SELECT status, payload->>'scheduledFor', NULL, NULL, NULL FROM events WHERE trigger_id = '${id}' ORDER BY at`
  )
const nextOf = async (id: string): Promise<number> => {
  const { stats } = await ask("GET", `/api/v1/triggers/${id}`)
  return Date.parse(stats.nextFireAt)
}
const minute = 60_000
const thisMinute = () => Math.floor(Date.now() / minute) * minute
/** One pass of the sweep of another node, whose clock is off by `offset` milliseconds. */
const passOf = (offset: number) =>
  svc.run(
    Effect.gen(function* () {
      const clock = yield* Effect.clock
      const { pass } = yield* task.make
      const shifted: Clock.Clock = {
        ...clock,
        [Clock.ClockTypeId]: Clock.ClockTypeId,
        unsafeCurrentTimeMillis: () => clock.unsafeCurrentTimeMillis() + offset,
        currentTimeMillis: Effect.map(clock.currentTimeMillis, (now) => now + offset),
        unsafeCurrentTimeNanos: () => clock.unsafeCurrentTimeNanos(),
        currentTimeNanos: clock.currentTimeNanos,
        sleep: (duration) => clock.sleep(duration)
      }
      yield* Effect.withClock(pass(Effect.void), shifted)
    })
  )

describe("ticks", () => {
  it("start a run each, with the schedule's payload, and the next time is stored with them", async () => {
    const { id } = await schedule({ mode: "interval", every: { n: 10 } })
    const at = thisMinute() - 10 * 1_000
    await setDue(id, at)
    const [row] = await eventually(
      () => eventsOf(id),
      (rows) => rows[0]?.status === "delivered"
    )
    assert.strictEqual(row?.at, new Date(at).toISOString())
    const execution = row?.deliveries?.[0]?.executionId
    const run = await eventually(
      () => ask("GET", `/api/v1/executions/${execution}`),
      (found) => found.status === "completed"
    )
    assert.deepStrictEqual(run.output, { from: "schedule" })
    assert.deepInclude(run.trigger, { type: "schedule", id })
    assert.isAbove(await nextOf(id), Date.now())
    const { stats } = await ask("GET", `/api/v1/triggers/${id}`)
    assert.approximately(Date.parse(stats.lastFiredAt), Date.now(), 30_000)
  })

  it("10,000 of 500 schedules fire once each over three sweeps at once, with clocks ten minutes off and one that dies", async () => {
    const { id: pattern } = await schedule({ mode: "interval", every: { n: 1 }, catchUp: "all", overlap: "allow" })
    await ask("POST", `/api/v1/triggers/${pattern}/disable`)
    const first = thisMinute() - 19 * minute
    const startsAt = new Date(first).toISOString()
    // The filter matches nothing, so that no runs are measured here.
    await sql(
      `INSERT INTO triggers (id, org, space, type, name, status, routes, workflow_ids, environments, delivery, schedule, created_by)
       SELECT 'trg_0000000000000000000000' || lpad(n::text, 4, '0'), org, space, type, name, 'active',
         jsonb_set(routes, '{0,filter}', '{"path":"none","op":"exists"}'), workflow_ids, environments, delivery,
         schedule || '{"startsAt":"${startsAt}"}', created_by
       FROM triggers, generate_series(0, 499) n WHERE id = '${pattern}'`
    )
    const like = "trg_0000000000000000000000%"
    await sql(
      `INSERT INTO trigger_states (trigger_id, org, next_fire_at) SELECT id, org, '${startsAt}' FROM triggers WHERE id LIKE '${like}'`
    )
    const passes = Promise.all([passOf(600_000), passOf(-600_000), passOf(0)])
    // A sweep that dies: it has leased schedules and handles none of them.
    await sql(
      `UPDATE trigger_states SET leased_until = now() + interval '3 seconds' WHERE trigger_id LIKE '${like}' AND trigger_id > 'trg_00000000000000000000000450'`
    )
    await passes
    // Of the first twenty minutes only: a minute that begins during the test is due as well.
    const theTicks = `trigger_id LIKE '${like}' AND (payload->>'scheduledFor')::timestamptz < '${new Date(first + 20 * minute).toISOString()}'`
    await eventually(
      () => sql<{ n: number }>(`SELECT count(*)::int AS n FROM event_records WHERE ${theTicks}`),
      ([row]) => (row?.n ?? 0) >= 10_000
    )
    const perTick = await sql<{ n: number; ticks: number; most: number; statuses: ReadonlyArray<string> }>(
      `SELECT count(*)::int AS ticks, max(n)::int AS most, sum(n)::int AS n, array_agg(DISTINCT status) AS statuses FROM (
         SELECT payload->>'scheduledFor' AS at, trigger_id, count(*) AS n, max(status) AS status FROM event_records
         WHERE ${theTicks}
         GROUP BY 1, 2) t`
    )
    assert.deepStrictEqual(perTick[0], { ticks: 10_000, most: 1, n: 10_000, statuses: ["ignored"] })
    await sql(`DELETE FROM triggers WHERE id LIKE '${like}'`)
  })

  it("that fired before an edit brought them back do not fire again, and do not stop the schedule", async () => {
    const { id } = await schedule({ mode: "interval", every: { n: 10 } })
    const at = thisMinute() - 1_000
    await setDue(id, at)
    await eventually(
      () => eventsOf(id),
      (rows) => rows.some(({ status }) => status === "delivered")
    )
    await setDue(id, at)
    await eventually(
      () => nextOf(id),
      (next) => next > Date.now()
    )
    const rows = await eventsOf(id)
    assert.deepStrictEqual(rows.map(({ status }) => status).sort(), ["delivered", "duplicate"])
  })
})

describe("ticks that were missed", () => {
  const missed = async (catchUp: string, count = 5, more: object = {}) => {
    const first = thisMinute() - count * 10 * minute + 5 * minute
    const { id } = await schedule({
      mode: "interval",
      every: { n: 10 },
      startsAt: new Date(first).toISOString(),
      catchUp,
      ...more
    })
    await setDue(id, first)
    await eventually(
      () => nextOf(id),
      (next) => next > Date.now()
    )
    const rows = await eventually(
      () => eventsOf(id),
      (found) => found.every(({ status }) => status !== "received")
    )
    return { first, rows: rows.map(({ at, reason, skipped, status }) => ({ at, reason, skipped, status })) }
  }
  const text = (at: number) => new Date(at).toISOString()

  it("are ignored, visibly, with the catch-up none", async () => {
    const { first, rows } = await missed("none")
    assert.deepStrictEqual(rows, [{ at: text(first), reason: "catch_up", skipped: 5, status: "ignored" }])
  })

  it("fire once with the catch-up one, for the last of them", async () => {
    const { first, rows } = await missed("one")
    assert.deepStrictEqual(rows, [
      { at: text(first), reason: "catch_up", skipped: 4, status: "ignored" },
      { at: text(first + 40 * minute), reason: null, skipped: null, status: "delivered" }
    ])
  })

  it("fire all with the catch-up all, one after the other", async () => {
    const { first, rows } = await missed("all")
    assert.deepStrictEqual(
      rows,
      [0, 1, 2, 3, 4].map((n) => ({
        at: text(first + n * 10 * minute),
        reason: null,
        skipped: null,
        status: "delivered"
      }))
    )
  })
})

describe("a tick while the run of an earlier one has not ended", () => {
  const busy = async (overlap: string) => {
    const slow = await workflow("await new Promise((done) => setTimeout(done, 600_000))", "standard")
    const { id } = await schedule({ mode: "interval", every: { n: 10 }, overlap }, { routes: [{ workflowId: slow }] })
    const statuses = async () => (await eventsOf(id)).map(({ reason, status }) => [status, reason])
    await setDue(id, thisMinute() - 2_000)
    await eventually(statuses, (found) => found[0]?.[0] === "delivered")
    await setDue(id, thisMinute() - 1_000)
    await eventually(statuses, (found) => found.length === 2)
    await eventually(
      () => nextOf(id),
      (next) => next > Date.now()
    )
    return { id, statuses }
  }

  it("is skipped and visible", async () => {
    const { statuses } = await busy("skip")
    assert.deepStrictEqual(await statuses(), [
      ["delivered", null],
      ["ignored", "overlap"]
    ])
  })

  it("waits with overlap queue", async () => {
    const { id, statuses } = await busy("queue")
    assert.deepStrictEqual(await statuses(), [
      ["delivered", null],
      ["received", null]
    ])
    const [first] = await eventsOf(id)
    await ask("POST", `/api/v1/executions/${first?.deliveries?.[0]?.executionId}/cancel`, {})
    await eventually(statuses, (found) => found[1]?.[0] === "delivered")
  })

  it("starts its run with overlap allow", async () => {
    const { statuses } = await busy("allow")
    await eventually(statuses, (found) => found[1]?.[0] === "delivered")
  })
})

describe("a schedule whose runs fail", () => {
  it("is disabled by the service after 20 in a row, and can be enabled after ten minutes", async () => {
    const failing = await workflow("if (ctx.input.fails) throw new Error('no')")
    const { id } = await schedule(
      { mode: "interval", every: { n: 10 }, overlap: "allow" },
      { routes: [{ workflowId: failing, payload: { fails: true } }] }
    )
    const failures = async (): Promise<number> => (await ask("GET", `/api/v1/triggers/${id}`)).stats.consecutiveFailures
    await setDue(id, thisMinute() - 1_000)
    await eventually(failures, (found) => found === 1)
    await sql(`UPDATE trigger_states SET consecutive_failures = 18 WHERE trigger_id = '${id}'`)
    await setDue(id, thisMinute() - 2_000)
    await eventually(failures, (found) => found === 19)
    assert.strictEqual((await ask("GET", `/api/v1/triggers/${id}`)).status, "active")
    await setDue(id, thisMinute() - 3_000)
    const disabled = await eventually(
      () => ask("GET", `/api/v1/triggers/${id}`),
      (found) => found.status !== "active"
    )
    assert.deepStrictEqual([disabled.status, disabled.stats.nextFireAt], ["auto_disabled", null])
    const early = await svc.ask("POST", `/api/v1/triggers/${id}/enable`, { key: svc.first.key })
    assert.deepStrictEqual([early.status, early.body.code, early.body.state], [409, "INVALID_STATE", "auto_disabled"])
    await sql(`UPDATE triggers SET auto_disabled_at = now() - interval '11 minutes' WHERE id = '${id}'`)
    const enabled = await ask("POST", `/api/v1/triggers/${id}/enable`)
    assert.deepStrictEqual([enabled.status, enabled.stats.consecutiveFailures], ["active", 0])
  })

  it("counts from zero after a success", async () => {
    const { id } = await schedule({ mode: "interval", every: { n: 10 } })
    await sql(`UPDATE trigger_states SET consecutive_failures = 7 WHERE trigger_id = '${id}'`)
    await setDue(id, thisMinute() - 1_000)
    await eventually(
      () => ask("GET", `/api/v1/triggers/${id}`),
      ({ stats }) => stats.consecutiveFailures === 0
    )
  })
})
