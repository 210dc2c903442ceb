/**
 * Three nodes on one database fire schedules, two of them are killed -9 and one of these is started again, and two clocks
 * are ten minutes off: every tick starts its run once. `SVC_TEST_LONG=1` fires 10,000 ticks over ten kills.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { api, type Api } from "../support/api.js"
import { eventually } from "../support/eventually.js"
import { connectEmbedded } from "../support/embeddedPostgres.js"
import { announce } from "../support/LogExpectations.js"
import { proofs } from "../support/proofs.js"
import { makeDataDirectory, prepareData, type Service, startService } from "../support/Service.js"

const isLong = process.env["SVC_TEST_LONG"] === "1"
/** Their ticks are spread over the minute; each has missed a few, which it catches up. */
const schedules = isLong ? 3_000 : 240
const missed = 3
const killsOfEach = isLong ? 5 : 1
const ticksAtLeast = isLong ? 10_000 : 200

const place = makeDataDirectory()
let service: Service
let client: Api
let flow = ""
const nodes = new Set<Service>()

/** A process whose `Date` is off by some milliseconds. */
const clockOff = (millis: number) =>
  `--import=data:text/javascript,${encodeURIComponent(
    `const Real = Date
    globalThis.Date = class extends Real {
      constructor(...given) { given.length === 0 ? super(Real.now() + ${millis}) : super(...given) }
      static now() { return Real.now() + ${millis} }
    }`
  )}`

const startNode = async (offMinutes: number, kill?: string): Promise<Service> => {
  const node = startService({
    dataDir: place.dataDir,
    isFurtherNode: true,
    env: offMinutes === 0 ? {} : { NODE_OPTIONS: clockOff(offMinutes * 60_000) },
    ...(kill === undefined ? {} : { kill })
  })
  nodes.add(node)
  await node.ready
  return node
}

const sql = async <Row extends object>(text: string): Promise<ReadonlyArray<Row>> => {
  const database = await connectEmbedded(place.dataDir)
  try {
    return (await database.query<Row>(text)).rows
  } finally {
    await database.end()
  }
}

beforeAll(async () => {
  await prepareData(place.dataDir)
  service = startService({ dataDir: place.dataDir })
  await service.ready
  client = api(place.dataDir)
  flow = await client.workflow("tick", "instant", "export default async (ctx) => ctx.event.id")
}, 60_000)
afterAll(async () => {
  for (const node of nodes) node.kill("SIGTERM")
  await Promise.all([...nodes].map(({ ended }) => ended))
  await proofs(service)
  place.remove()
}, 60_000)

const like = "trg_0000000000000000000000%"
/** Copies a schedule of one minute: the first ticks are spread over a minute from a few minutes ago on. */
const copySchedules = async (): Promise<void> => {
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
}

const firedTicks = async (): Promise<number> =>
  (await sql<{ n: number }>(`SELECT count(*)::int AS n FROM event_records WHERE trigger_id LIKE '${like}'`))[0]?.n ?? 0

describe("a tick", () => {
  it(
    "starts its run once, on three nodes of which two are killed and two have wrong clocks",
    async () => {
      announce(/"clock\.differs_from_postgres"/, { required: true })
      // While the nodes start, nothing is due.
      const first = startNode(10, "parsed:15")
      const second = startNode(0, "committed:12")
      const killed = [await first, await second]
      await copySchedules()
      const killAgain = async (node: Service, offMinutes: number, restartsLast: boolean, point: string) => {
        let current = node
        for (let left = killsOfEach; ; left--) {
          assert.isNull(await current.ended, current.output())
          nodes.delete(current)
          if (left === 1 && !restartsLast) return
          current = await startNode(offMinutes, left === 1 ? undefined : point)
          if (left === 1) return
        }
      }
      const [one, other] = killed
      assert.isDefined(one)
      assert.isDefined(other)
      await Promise.all([killAgain(one, -10, true, "committed:60"), killAgain(other, 0, false, "parsed:60")])
      await eventually(firedTicks, (count) => count >= ticksAtLeast, isLong ? 300_000 : 60_000)

      const [stopped] = await sql<{ at: Date }>("SELECT now() AS at")
      const end = stopped?.at.toISOString()
      const ticks = `SELECT t.id, at FROM triggers t,
          generate_series((t.schedule->>'startsAt')::timestamptz, '${end}', interval '1 minute') at WHERE t.id LIKE '${like}'`
      const runs = `SELECT record->'trigger'->>'eventId' AS event, count(*) AS all_runs,
          count(*) FILTER (WHERE status = 'completed') AS completed FROM executions GROUP BY 1`
      const fired = `SELECT r.trigger_id AS id, (r.payload->>'scheduledFor')::timestamptz AS at, r.status,
          COALESCE(x.all_runs, 0) AS runs, COALESCE(x.completed, 0) AS completed
        FROM event_records r LEFT JOIN runs x ON x.event = r.id WHERE r.trigger_id LIKE '${like}'`
      const summary = `WITH runs AS MATERIALIZED (${runs}), fired AS MATERIALIZED (${fired}), ticks AS MATERIALIZED (${ticks})
        SELECT count(*)::int AS ticks, count(*) FILTER (WHERE delivered = 1)::int AS delivered, sum(runs)::int AS runs,
          sum(completed)::int AS completed, sum(others)::int AS others
        FROM (SELECT t.id, t.at, count(*) FILTER (WHERE f.status = 'delivered') AS delivered,
            COALESCE(sum(f.runs), 0) AS runs, COALESCE(sum(f.completed), 0) AS completed,
            count(*) FILTER (WHERE f.status NOT IN ('delivered', 'duplicate')) AS others
          FROM ticks t LEFT JOIN fired f USING (id, at) GROUP BY 1, 2) e`
      const summarise = async () =>
        (await sql<{ ticks: number; delivered: number; runs: number; completed: number; others: number }>(summary))[0]
      const found = await eventually(summarise, (all) => (all?.completed ?? 0) >= (all?.ticks ?? 1), 60_000)
      const count = found?.ticks
      assert.deepStrictEqual(found, { ticks: count, delivered: count, runs: count, completed: count, others: 0 })
      await sql(`UPDATE triggers SET status = 'disabled' WHERE id LIKE '${like}'`)
      await sql(`DELETE FROM trigger_states WHERE trigger_id LIKE '${like}'`)
      console.log(`${count} ticks, ${2 * killsOfEach} kills`)
    },
    isLong ? 600_000 : 120_000
  )
})
