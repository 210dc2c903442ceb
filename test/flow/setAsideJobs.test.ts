/**
 * One stored job that fails, by whatever it holds, is set aside after three tries, named in /readyz and counted, and its
 * task goes on with the jobs of everybody else.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import { Client } from "pg"
import { TestDatabase } from "../support/Database.js"
import { eventually } from "../support/eventually.js"
import { type Running, start } from "../support/InProcess.js"
import { announceSetAside } from "../support/failedJobs.js"

let svc: Running
let admin: Client
let at: { readonly org: string; readonly space: string }
beforeAll(async () => {
  svc = await start()
  admin = new Client({ connectionString: Redacted.value((await svc.run(TestDatabase)).admin) })
  await admin.connect()
  await admin.query("CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'poison'; END $$")
  at = { org: svc.first.organisationId, space: svc.first.spaceId }
})
afterAll(async () => {
  await admin.end()
  await svc.stop()
})

const ids = async (text: string, values: ReadonlyArray<unknown> = []) =>
  (await admin.query<{ readonly id: string }>(text, [...values])).rows.map(({ id }) => id)

const setAside = async () => {
  const { body } = await svc.ask("GET", "/readyz")
  const tasks: ReadonlyArray<{ readonly task: string; readonly ids: ReadonlyArray<string> }> =
    body.checks.tasks.setAside
  return { status: body.status, ids: tasks.flatMap((one) => one.ids.map((id) => `${one.task} ${id}`)) }
}

/** Repeats until the job is set aside; `hurry` ends the leases and pauses that the task would wait for. */
const untilSetAside = async (task: string, id: string, hurry: string) => {
  announceSetAside(task)
  const found = await eventually(
    async () => {
      await admin.query(hurry)
      return await setAside()
    },
    (seen) => seen.ids.includes(`${task} ${id}`)
  )
  assert.strictEqual(found.status, "degraded")
  const { text } = await svc.ask("GET", "/metrics")
  assert.match(text, new RegExp(`^svc_task_jobs_set_aside\\{task="${task.replace(".", "\\.")}"\\} 1$`, "m"))
}

/** A trigger on the service's own events, whose dead letters and ticks the tests store themselves. */
const makeTrigger = async (name: string, more: object) => {
  const { body } = await svc.ask("POST", "/api/v1/triggers", {
    key: svc.first.key,
    body: { name, routes: [{ workflowId: svc.first.workflowId, environment: "live" }], ...more }
  })
  return String(body.data.id)
}

const setStatus = (customer: string, status: string) =>
  svc.ask("PUT", `/api/v1/customers/${customer}`, { key: svc.first.key, body: { status } })

describe("a stored job that fails", () => {
  it("of the replays: a filter that an earlier release accepted", async () => {
    const [bad, good] = ["rpl_00000000000000000000000001", "rpl_00000000000000000000000002"]
    await admin.query(
      `INSERT INTO replays (id, org, space, filter, most, per_second, created_by)
       VALUES ($1, $3, $4, '{"createdAfter":"https://[::1"}', 10, 10, 'test'), ($2, $3, $4, '{"type":"none"}', 10, 10, 'test')`,
      [bad, good, at.org, at.space]
    )
    await untilSetAside("events.replay", String(bad), "UPDATE replays SET next_at = now() WHERE status = 'running'")
    assert.deepStrictEqual(await ids("SELECT id FROM replays WHERE status = 'finished'"), [good])
  })

  it("of the domain events: one that cannot be published, in a batch with others", async () => {
    await admin.query(
      "CREATE TRIGGER refused BEFORE DELETE ON domain_events FOR EACH ROW WHEN (OLD.subject = 'poison') EXECUTE FUNCTION refuse()"
    )
    await admin.query(
      `INSERT INTO domain_events (id, org, type, subject, payload)
       SELECT svc_new_id('evt'), $1, 'installation.created', CASE n WHEN 5 THEN 'poison' ELSE 'inst_' || n END, '{}'
       FROM generate_series(1, 10) n`,
      [at.org]
    )
    const [poison] = await ids("SELECT id FROM domain_events WHERE subject = 'poison'")
    await untilSetAside("events.publish", String(poison), "SELECT 1")
    await eventually(
      () => ids("SELECT id FROM domain_events"),
      (left) => left.join() === poison
    )
  })

  it("of the schedules: one whose settings cannot be read", async () => {
    const schedule = { type: "schedule", schedule: { mode: "interval", every: { n: 1 } } }
    const [bad, good] = [await makeTrigger("bad", schedule), await makeTrigger("good", schedule)]
    await admin.query(`UPDATE triggers SET schedule = schedule || '{"mode":"cron","cron":5}' WHERE id = $1`, [bad])
    await untilSetAside(
      "schedules.fire",
      bad,
      `UPDATE trigger_states SET next_fire_at = LEAST(next_fire_at, now()), leased_until = NULL WHERE trigger_id = '${bad}'`
    )
    await admin.query("UPDATE trigger_states SET next_fire_at = now() - interval '1 second' WHERE trigger_id = $1", [
      good
    ])
    await eventually(
      () =>
        ids("SELECT id FROM events WHERE trigger_id = $1 UNION SELECT id FROM event_records WHERE trigger_id = $1", [
          good
        ]),
      (events) => events.length > 0
    )
  })

  it("of the deliveries: one whose result cannot be stored", async () => {
    await admin.query(
      `CREATE TRIGGER refused BEFORE UPDATE ON deliveries FOR EACH ROW
       WHEN (OLD.id LIKE '%POISON' AND NEW.last_error IS NOT NULL) EXECUTE FUNCTION refuse()`
    )
    await admin.query(
      `INSERT INTO deliveries (id, org, space, kind, url, payload)
       SELECT id, $1, $2, 'callback', 'https://127.0.0.1:1/', '{}' FROM unnest($3::text[]) id`,
      [at.org, at.space, ["dlv_POISON", "dlv_GOOD"]]
    )
    await untilSetAside(
      "deliveries.send",
      "dlv_POISON",
      "UPDATE deliveries SET claimed_until = NULL WHERE id = 'dlv_POISON' AND last_error IS NULL"
    )
    assert.deepStrictEqual(
      await ids("SELECT id FROM deliveries WHERE id = 'dlv_GOOD' AND attempts > 0 AND last_error IS NOT NULL"),
      ["dlv_GOOD"]
    )
  })

  it("of the held events: one that cannot be released, in a batch with others", async () => {
    const customer = (await svc.ask("POST", "/api/v1/customers", { key: svc.first.key, body: { name: "Held" } })).body
      .data.id
    await makeTrigger("held", { type: "event", event: { type: "held.event" }, customerId: customer })
    await setStatus(customer, "suspended")
    for (let n = 0; n < 5; n++) {
      const { status, text } = await svc.ask("POST", "/api/v1/events", {
        key: svc.first.key,
        body: { type: "held.event", customerId: customer, payload: { n } }
      })
      assert.strictEqual(status, 202, text)
    }
    const held = await eventually(
      () => ids("SELECT id FROM events WHERE status = 'held' ORDER BY id"),
      ({ length }) => length === 5
    )
    const poison = String(held[2])
    await admin.query(
      `CREATE TRIGGER refused BEFORE UPDATE ON events FOR EACH ROW WHEN (OLD.id = '${poison}') EXECUTE FUNCTION refuse()`
    )
    await setStatus(customer, "active")
    await untilSetAside("events.release_held", poison, "SELECT 1")
    assert.deepStrictEqual(await ids("SELECT id FROM events WHERE status = 'held'"), [poison])
  })
})
