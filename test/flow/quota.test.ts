/** A plan's events of a day run exactly; those beyond wait, and run once there is room. None is lost. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { BackgroundTasks } from "../../src/actors/ports/BackgroundTasks.js"
import { type Arrival, Events } from "../../src/actors/ports/event/Events.js"
import { StorageUsage } from "../../src/actors/ports/organisation/StorageUsage.js"
import type { CustomerId, OrganisationId, SpaceId } from "../../src/domain/Ids.js"
import { DbRefused, WorkspaceDb } from "../../src/actors/ports/run/WorkspaceDb.js"
import { runMaintenance } from "../../src/runtime/postgres/database/Maintenance.js"
import { announceQuotas } from "../../src/runtime/postgres/quota/QuotaWarnings.js"
import { countDays } from "../../src/runtime/postgres/organisation/UsageDays.js"
import { countWorkspaces } from "../../src/runtime/workspace/WorkspaceStorage.js"
import { eventually } from "../support/eventually.js"
import { type Running, start } from "../support/InProcess.js"
import { scaled } from "../support/slowness.js"
import { isLong } from "../support/longForm.js"

/** The long form is that of the specification. */
const arrivals = isLong ? 20_000 : 2_200

let svc: Running
beforeAll(async () => {
  svc = await start()
})
afterAll(() => svc.stop())

const sql = <A extends object>(statement: string) => svc.sql<A>(statement)
const countOf = async (statement: string): Promise<number> => (await sql<{ n: number }>(statement))[0]?.n ?? NaN

type World = Awaited<ReturnType<Running["organisation"]>>

const returnInput = "export default async (ctx) => ctx.input"

/** A trigger of events of the type, whose workflow has this code. */
const subscribe = async ({ key }: World, type: string, code = returnInput, routes = 1) => {
  const ask = async (target: string, body: object) => {
    const answer = await svc.ask("POST", `/api/v1${target}`, { key, body })
    assert.isBelow(answer.status, 300, answer.text)
    return answer.body.data
  }
  const tier = code === returnInput ? "instant" : "standard"
  const { id } = await ask("/workflows", { name: `w_${type.replace(".", "_")}`, form: "code", tier, code })
  await ask(`/workflows/${id}/publish`, {})
  const to = Array.from({ length: routes }, () => ({ workflowId: id }))
  await ask("/triggers", { type: "event", name: type, event: { type }, routes: to })
}

const arrive = (
  world: World,
  type: string,
  n: number,
  customerId: string | null = null,
  source: Arrival["source"] = "manual"
) =>
  Effect.flatMap(Events, ({ receive }) =>
    receive({
      organisationId: world.organisationId as OrganisationId,
      spaceId: world.spaceId as SpaceId,
      source,
      trigger: null,
      connector: null,
      connectionId: null,
      customerId: customerId as CustomerId | null,
      type,
      entity: null,
      action: "other",
      occurredAt: null,
      payload: { n },
      headers: {},
      deduplication: { value: null, deliveryId: String(n) },
      traceparent: null
    } satisfies Arrival)
  )

const arriveAll = (world: World, type: string, count: number, customerId: string | null = null) =>
  svc.run(
    Effect.map(
      Effect.forEach(
        Array.from({ length: count }, (_, n) => n),
        (n) => arrive(world, type, n, customerId),
        { concurrency: 500 }
      ),
      (receptions) => {
        const counts: { [tag: string]: number } = {}
        for (const { _tag } of receptions) counts[_tag] = (counts[_tag] ?? 0) + 1
        return counts
      }
    )
  )

const runsOf = ({ organisationId }: World) =>
  countOf(`SELECT count(*)::int AS n FROM executions WHERE org = '${organisationId}'`)
const heldOf = ({ organisationId }: World) =>
  countOf(`SELECT count(*)::int AS n FROM events WHERE org = '${organisationId}' AND status = 'held'`)
/** Waits until this many runs have ended; then none may follow. */
const ranExactly = async (world: World, count: number) => {
  await eventually(
    () => runsOf(world),
    (found) => found >= count,
    120_000
  )
  await eventually(
    () => countOf(`SELECT count(*)::int AS n FROM start_queue WHERE org = '${world.organisationId}' AND NOT held`),
    (found) => found === 0,
    120_000
  )
  assert.strictEqual(await runsOf(world), count)
}

/** What its customer has used of the day. */
const usedBy = ({ customerId, organisationId }: World) =>
  countOf(`SELECT granted AS n FROM rate_windows WHERE org = '${organisationId}' AND bucket = 'starts|${customerId}'`)

/** Fills a table of its workspace with about 110 MiB, or empties it. */
const toggleNotes = `export default async () => {
  await svc.db.query("CREATE TABLE IF NOT EXISTS notes (text text)")
  const [{ n }] = await svc.db.query("SELECT count(*)::int AS n FROM notes")
  await svc.db.query(n > 0 ? "TRUNCATE notes" : "INSERT INTO notes SELECT repeat('x', 1900) FROM generate_series(1, 56000)")
}`

/** svc.db while its server is away. */
const dbAway = Effect.map(WorkspaceDb, (db) =>
  WorkspaceDb.of({
    ...db,
    sizes: () =>
      new DbRefused({ message: "away", code: "08006", detail: null, hint: null, position: null, transient: true })
  })
)

// Those that wait for the release of their events wait together.
describe("The events of a day", () => {
  it.concurrent(
    `of ${arrivals} at once exactly 1,000 run on a plan of 1,000; the rest run on a larger plan, the oldest first`,
    async () => {
      const world = await svc.organisation("Starter", "starter")
      await subscribe(world, "order.placed")
      const receptions = await arriveAll(world, "order.placed", arrivals)
      assert.deepStrictEqual(receptions, { Accepted: 1_000, Held: arrivals - 1_000 })
      await ranExactly(world, 1_000)
      assert.strictEqual(await heldOf(world), arrivals - 1_000)
      // The same events again are repetitions, whether they ran or wait, and count for nothing.
      const again = await arriveAll(world, "order.placed", 10)
      assert.deepStrictEqual(again, { Duplicate: 10 })

      // The next day: the quota allows another thousand, and these are the oldest.
      const oldest = await sql<{ id: string }>(
        `SELECT id FROM events WHERE org = '${world.organisationId}' AND status = 'held' ORDER BY id LIMIT 1000`
      )
      await sql(`UPDATE rate_windows SET minute = minute - interval '1 day' WHERE org = '${world.organisationId}'`)
      await ranExactly(world, 2_000)
      const ids = oldest.map(({ id }) => `'${id}'`).join(",")
      assert.strictEqual(
        await countOf(`SELECT count(*)::int AS n FROM event_records WHERE id IN (${ids}) AND status = 'delivered'`),
        1_000
      )
      await sql(`UPDATE organisations SET plan = 'unlimited' WHERE id = '${world.organisationId}'`)
      await ranExactly(world, arrivals)
      assert.strictEqual(await heldOf(world), 0)
    },
    scaled(600_000)
  )

  it.concurrent("of a customer with a limit of its own wait, those of others run", async () => {
    const world = await svc.organisation("Customers")
    await subscribe(world, "ticket.opened")
    await sql(`UPDATE customers SET limits = '{"events_per_day": 3}' WHERE id = '${world.customerId}'`)
    const limited = await arriveAll(world, "ticket.opened", 5, world.customerId)
    assert.deepStrictEqual(limited, { Accepted: 3, Held: 2 })
    assert.strictEqual((await svc.run(arrive(world, "ticket.opened", 100)))._tag, "Accepted")
    await ranExactly(world, 4)
    await sql(`UPDATE customers SET limits = '{}' WHERE id = '${world.customerId}'`)
    await ranExactly(world, 6)
  })

  it.concurrent("count a tick as often as it has routes; those beyond wait, and run with room for all of them", async () => {
    const world = await svc.organisation("Ticking")
    await subscribe(world, "hour.begun", returnInput, 3)
    await sql(`UPDATE customers SET limits = '{"events_per_day": 5}' WHERE id = '${world.customerId}'`)
    const tick = async (n: number) => (await svc.run(arrive(world, "hour.begun", n, world.customerId, "schedule")))._tag
    assert.deepStrictEqual([await tick(1), await tick(2)], ["Accepted", "Held"])
    await ranExactly(world, 3)
    assert.strictEqual(await usedBy(world), 3)
    assert.strictEqual((await svc.run(arrive(world, "hour.begun", 3, world.customerId)))._tag, "Accepted")
    assert.strictEqual((await svc.run(arrive(world, "hour.begun", 4, world.customerId)))._tag, "Accepted")
    assert.strictEqual(await usedBy(world), 5)
    await sql(`UPDATE customers SET limits = '{"events_per_day": 8}' WHERE id = '${world.customerId}'`)
    await ranExactly(world, 12)
    assert.strictEqual(await usedBy(world), 8)
    await svc.run(countDays)
    const counted = `SELECT events AS n FROM usage_days WHERE org = '${world.organisationId}' AND events > 0`
    assert.strictEqual(await countOf(counted), 8)
  })

  it.concurrent("count a tick with more routes than the quota as a whole day", async () => {
    const world = await svc.organisation("Ticking much")
    await subscribe(world, "day.begun", returnInput, 3)
    await sql(`UPDATE customers SET limits = '{"events_per_day": 2}' WHERE id = '${world.customerId}'`)
    const tick = async (n: number) => (await svc.run(arrive(world, "day.begun", n, world.customerId, "schedule")))._tag
    assert.deepStrictEqual([await tick(1), await tick(2)], ["Accepted", "Held"])
    await ranExactly(world, 3)
    assert.strictEqual(await usedBy(world), 2)
  })

  it.concurrent("count replays that a request asks for, of events and of dead letters, alone and among many", async () => {
    const world = await svc.organisation("Replaying")
    const post = async (target: string, body: object) => {
      const answer = await svc.ask("POST", `/api/v1${target}`, { key: world.key, body })
      assert.isBelow(answer.status, 300, answer.text)
      return answer.body.data
    }
    await subscribe(world, "cart.left", `export default async () => { throw new Error("no") }`)
    await sql(`UPDATE customers SET limits = '{"events_per_day": 4}' WHERE id = '${world.customerId}'`)
    const { eventId } = await svc.run(arrive(world, "cart.left", 1, world.customerId))
    const letterOf = async (count: number) => {
      const letters = await eventually(
        () => sql<{ id: string }>(`SELECT id FROM dead_letters WHERE org = '${world.organisationId}' ORDER BY id`),
        (rows) => rows.length >= count
      )
      return letters.at(-1)?.id ?? ""
    }
    await letterOf(1)
    await post(`/events/${eventId}/replay`, {})
    const second = await letterOf(2)
    assert.strictEqual(await usedBy(world), 2)
    await post(`/dlq/${second}/replay`, {})
    await letterOf(3)
    assert.strictEqual(await usedBy(world), 3)
    // Of the two letters that are left one fits; the other waits.
    await post("/dlq/replay", { filter: { type: "cart.left" }, ratePerSecond: 50 })
    await eventually(
      () => heldOf(world),
      (held) => held === 1
    )
    await letterOf(4)
    assert.strictEqual(await usedBy(world), 4)
  })

  it.concurrent("wait while the organisation stores more than its plan allows", async () => {
    const world = await svc.organisation("Full", "starter")
    await subscribe(world, "file.added")
    await sql(`INSERT INTO storage_usage (org, bytes) VALUES ('${world.organisationId}', 105000000)`)
    assert.strictEqual((await svc.run(arrive(world, "file.added", 1)))._tag, "Held")
    await sql(`UPDATE storage_usage SET bytes = 1000 WHERE org = '${world.organisationId}'`)
    await ranExactly(world, 1)
  })

  it.concurrent("are told of at 80 per cent and when they are used up, once a day", async () => {
    const world = await svc.organisation("Warned", "starter")
    const set = (bucket: string, granted: number) =>
      sql(`INSERT INTO rate_windows (org, bucket, minute, granted) VALUES ('${world.organisationId}', '${bucket}',
        date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC', ${granted})
        ON CONFLICT (org, bucket, minute) DO UPDATE SET granted = excluded.granted`)
    const toldOf = async () => {
      await svc.run(announceQuotas)
      await svc.run(announceQuotas)
      const found = await eventually(
        () =>
          sql<{ severity: string; title: string }>(
            `SELECT severity, title FROM notifications WHERE org = '${world.organisationId}'`
          ),
        (rows) => rows.length >= expected
      )
      return found.map(({ severity, title }) => `${severity}: ${title}`)
    }
    let expected = 0
    await set("starts", 799)
    assert.deepStrictEqual(await toldOf(), [])
    expected = 1
    await set("starts", 800)
    assert.deepStrictEqual(await toldOf(), ["warning: The quota events_per_day is used to 80 per cent"])
    expected = 4
    await set("starts", 1_000)
    await sql(`UPDATE customers SET limits = '{"events_per_day": 10}' WHERE id = '${world.customerId}'`)
    await set(`starts|${world.customerId}`, 9)
    await sql(`INSERT INTO storage_usage (org, bytes) VALUES ('${world.organisationId}', 90000000)`)
    assert.sameMembers(await toldOf(), [
      "warning: The quota events_per_day is used to 80 per cent",
      "warning: The quota events_per_day is used to 90 per cent",
      "error: The quota events_per_day is used up",
      "warning: The quota storage_mb is used to 85 per cent"
    ])
  })

  it.concurrent("wait while their customer is suspended", async () => {
    const world = await svc.organisation("Suspended")
    await subscribe(world, "invoice.sent")
    await sql(`UPDATE customers SET status = 'suspended' WHERE id = '${world.customerId}'`)
    assert.strictEqual((await svc.run(arrive(world, "invoice.sent", 1, world.customerId)))._tag, "Held")
    await sql(`UPDATE customers SET status = 'active' WHERE id = '${world.customerId}'`)
    await ranExactly(world, 1)
  })

  it.concurrent("that waited for thirty days are dead letters with their payload", async () => {
    const world = await svc.organisation("Expired")
    await subscribe(world, "lead.lost")
    await sql(`UPDATE customers SET status = 'suspended' WHERE id = '${world.customerId}'`)
    const { eventId } = await svc.run(arrive(world, "lead.lost", 7, world.customerId))
    const old = `evt_${"0".repeat(26)}`
    await sql(`UPDATE start_queue SET id = '${old}' WHERE id = '${eventId}'`)
    await sql(`UPDATE events SET id = '${old}' WHERE id = '${eventId}'`)
    const [letter] = await eventually(
      () =>
        sql<object>(
          `SELECT event_id AS event, error->>'code' AS code, payload, status FROM dead_letters WHERE event_id = '${old}'`
        ),
      (rows) => rows.length > 0
    )
    assert.deepStrictEqual(letter, { event: old, code: "HELD_EXPIRED", payload: { n: 7 }, status: "pending" })
    assert.strictEqual(
      await countOf(`SELECT count(*)::int AS n FROM event_records WHERE id = '${old}' AND status = 'dead'`),
      1
    )
    assert.strictEqual(await countOf(`SELECT count(*)::int AS n FROM start_queue WHERE id = '${old}'`), 0)
  })

  it("refuse starts through the API while the organisation stores more than its plan allows", async () => {
    const world = await svc.organisation("Full starts", "starter")
    await sql(`INSERT INTO storage_usage (org, bytes) VALUES ('${world.organisationId}', 105000000)`)
    const run = await svc.ask("POST", `/api/v1/workflows/${world.workflowId}/execute`, {
      key: world.key,
      body: { input: {} }
    })
    assert.deepStrictEqual(
      [run.status, run.body.code, run.body.quota.dimension],
      [403, "PLAN_LIMIT_REACHED", "storage_mb"]
    )
  })

  it("wait while the workspaces' databases are larger than the plan allows, and starts are refused; a replay can make room", async () => {
    const world = await svc.organisation("Full databases", "starter")
    const { key } = world
    const post = (target: string, body: object) => svc.ask("POST", `/api/v1${target}`, { key, body })
    const statusOfStart = async () => (await post(`/workflows/${world.workflowId}/execute`, { input: {} })).status
    const storedBytes = `SELECT (bytes + workspace_bytes)::float8 AS n FROM storage_usage WHERE org = '${world.organisationId}'`
    const statusOf = async (id: string) => (await svc.ask("GET", `/api/v1/events/${id}`, { key })).body.data.status
    /** Megabytes as the service knows them, which keeps what it has read for a moment. */
    const megabytes = () =>
      svc.run(Effect.flatMap(StorageUsage, (storage) => storage.megabytes(world.organisationId as OrganisationId)))
    const usage = async () => {
      const { body } = await svc.ask("GET", "/api/v1/quota/usage", { key })
      return body.data.find(({ dimension }: { readonly dimension: string }) => dimension === "storage_mb")
    }
    // They are counted before it, in pages, and have no workspaces.
    await sql(`INSERT INTO organisations (id, name, slug, plan)
      SELECT 'org_' || lpad(n::text, 26, '0'), n, n, 'starter' FROM generate_series(1, 150) n`)
    await subscribe(world, "file.added")
    await subscribe(world, "notes.toggled", toggleNotes)

    const toggled = await post("/events", { type: "notes.toggled", payload: {} })
    await ranExactly(world, 1)
    assert.strictEqual(await statusOfStart(), 200)
    await svc.run(countWorkspaces)
    await eventually(megabytes, (used) => used >= 100)
    assert.deepInclude(await usage(), { limit: 100, remaining: 0 })
    assert.strictEqual(await statusOfStart(), 403)
    const { body } = await post("/events", { type: "file.added", payload: {} })
    assert.strictEqual(await statusOf(body.data.eventId), "held")

    // Neither another count nor a server that is away frees the quota.
    await svc.run(Effect.scoped(runMaintenance))
    await svc.run(Effect.flip(Effect.provideService(countWorkspaces, WorkspaceDb, await svc.run(dbAway))))
    assert.isAtLeast(await countOf(storedBytes), 100 * 1024 * 1024)
    assert.strictEqual(await statusOfStart(), 403)

    await post(`/events/${toggled.body.data.eventId}/replay`, {})
    await ranExactly(world, 3)
    await svc.run(countWorkspaces)
    await eventually(megabytes, (used) => used < 100)
    assert.strictEqual(await statusOfStart(), 200)
    await ranExactly(world, 5)
    assert.strictEqual(await statusOf(body.data.eventId), "delivered")
    // The service counts by itself, too.
    await eventually(
      () => svc.run(Effect.map(BackgroundTasks, (registry) => registry.statuses())),
      (tasks) => tasks.some(({ name, succeededAt }) => name === "workspaces.count_storage" && succeededAt !== null)
    )
  })

  it("and what is stored is counted by the hourly maintenance", async () => {
    const world = await svc.organisation("Counted", "starter")
    await svc.ask("POST", `/api/v1/workflows/${world.workflowId}/execute`, {
      key: world.key,
      body: { input: { a: "x" } }
    })
    await eventually(
      () => runsOf(world),
      (found) => found === 1
    )
    await svc.run(Effect.scoped(runMaintenance))
    assert.isAbove(
      await countOf(`SELECT bytes::int AS n FROM storage_usage WHERE org = '${world.organisationId}'`),
      200
    )
  })
})
