/** The audit trail seals every entry, and reports when it does not. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import { Client } from "pg"
import { batch } from "../../src/runtime/audit/Sealer.js"
import { TestDatabase } from "../support/Database.js"
import { eventually } from "../support/eventually.js"
import { announce } from "../support/LogExpectations.js"
import { type Running, start } from "../support/InProcess.js"

let svc: Running
let admin: Client
beforeAll(async () => {
  svc = await start()
  const { admin: login } = await svc.run(TestDatabase)
  admin = new Client({ connectionString: Redacted.value(login) })
  await admin.connect()
})
afterAll(async () => {
  await admin.end()
  await svc.stop()
})

type Organisation = Running["first"]

const verify = async ({ key }: Organisation) => (await svc.ask("GET", "/api/v1/audit/verify", { key })).body.data
const allSealed = (organisation: Organisation) =>
  eventually(
    () => verify(organisation),
    ({ unsealed }) => unsealed === 0
  )
const readyz = async () => (await svc.ask("GET", "/readyz")).body

const change = (organisation: Organisation, n: number) =>
  svc.ask("POST", "/api/v1/customers", {
    key: organisation.key,
    body: { name: `Customer ${n}`, slug: `c-${organisation.spaceId.slice(-6)}-${n}` }
  })

/** Uses up transaction ids until the next one is `wanted` or more. */
const advanceTo = async (wanted: number) => {
  await admin.query(`CREATE OR REPLACE PROCEDURE burn(wanted bigint) LANGUAGE plpgsql AS $$ BEGIN
    WHILE pg_current_xact_id()::text::bigint < wanted LOOP COMMIT; END LOOP; END $$`)
  await admin.query(`CALL burn(${wanted})`)
}
const currentXid = async () => Number((await admin.query("SELECT pg_current_xact_id()::text AS xid")).rows[0].xid)

/** Entries as an earlier transaction with that number wrote them. */
const insertEntries = async (
  { organisationId }: Organisation,
  entries: ReadonlyArray<{ readonly xid: number; readonly id: string; readonly at?: Date }>
) => {
  for (const { at = new Date(), id, xid } of entries) {
    const entry = {
      id,
      organisationId,
      at: at.toISOString(),
      actor: { type: "system", id: "test", name: "test" },
      action: "test.act",
      resource: { type: "test", id, name: null }
    }
    await admin.query(
      `INSERT INTO audit_entries (id, org, at, xid, actor_type, actor_id, action, resource_type, resource_id, outcome, entry)
       VALUES ($1, $2, $3, $4, 'system', 'test', 'test.act', 'test', $1, 'success', $5)`,
      [id, organisationId, at, xid, JSON.stringify(entry)]
    )
  }
}

const order = async ({ organisationId }: Organisation) =>
  (
    await admin.query<{ xid: string }>(
      "SELECT e.xid FROM audit_seal s JOIN audit_entries e ON e.id = s.entry_id WHERE s.org = $1 ORDER BY s.seq",
      [organisationId]
    )
  ).rows.map(({ xid }) => Number(xid))

/** Runs `body` while Postgres refuses to seal entries of the organisation. */
const refusingSealOf = async ({ organisationId }: Organisation, body: () => Promise<unknown>) => {
  announce(/"audit\.seal_failed".*P0001/, { required: true })
  announce(/"background_task\.failed".*"task":"audit\.seal"/, { required: true })
  await admin.query(`
    CREATE OR REPLACE FUNCTION refuse_seal() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF NEW.org = '${organisationId}' THEN RAISE EXCEPTION 'refused'; END IF; RETURN NEW; END $$;
    CREATE TRIGGER refuse_seal BEFORE INSERT ON audit_seal FOR EACH ROW EXECUTE FUNCTION refuse_seal()`)
  try {
    await body()
  } finally {
    await admin.query("DROP TRIGGER refuse_seal ON audit_seal")
  }
}

const around = (boundary: number) => Array.from({ length: 20 }, (_, n) => boundary - 10 + n)
const entryId = (xid: number) => `aud_${String(xid).padStart(26, "0")}`

describe("the seal of the audit trail", () => {
  it("goes on where transaction ids gain a digit, for 1,200 changes of two organisations", async () => {
    const second = await svc.organisation("Second")
    const digits = String(await currentXid()).length
    await advanceTo(10 ** digits - 900)
    for (let n = 0; n < 600; n += 20) {
      await Promise.all(
        Array.from({ length: 20 }, async (_, at) => {
          assert.strictEqual((await change(svc.first, n + at)).status, 201)
          assert.strictEqual((await change(second, n + at)).status, 201)
        })
      )
    }
    assert.isAbove(await currentXid(), 10 ** digits, "the boundary was not crossed")
    for (const organisation of [svc.first, second]) {
      const found = await allSealed(organisation)
      assert.deepInclude(found, { ok: true, firstBadSeq: null, oldestUnsealed: null })
      assert.isAtLeast(found.checked, 600)
    }
    assert.deepInclude(await readyz(), { status: "ready" })
  })

  it("has the order of the transactions, by their number", async () => {
    const organisation = await svc.organisation("Ordered")
    await allSealed(organisation)
    await admin.query("DELETE FROM audit_heads WHERE org = $1", [organisation.organisationId])
    const xids = [...around(1_000), ...around(10_000)].filter((xid) => xid < 10_005)
    await insertEntries(organisation, xids.map((xid) => ({ xid, id: entryId(xid) })).toReversed())
    await advanceTo(10_010)
    await change(organisation, 1)
    assert.deepInclude(await allSealed(organisation), { ok: true })
    assert.includeOrderedMembers(await order(organisation), xids)
  })

  it("seals many entries in batches, between which the main loop serves others", async () => {
    const organisation = await svc.organisation("Many")
    await allSealed(organisation)
    // In one transaction, so that all of them are found by the same pass.
    await admin.query("BEGIN")
    const xid = await currentXid()
    const entries = Array.from({ length: 2 * batch + 1 }, (_, n) => ({ xid, id: entryId(50_000 + n) }))
    await insertEntries(organisation, entries)
    await admin.query("COMMIT")
    assert.deepInclude(await allSealed(organisation), { ok: true })
    // A batch is one transaction.
    const { rows } = await admin.query<{ count: number }>(
      "SELECT count(*)::int AS count FROM audit_seal WHERE org = $1 GROUP BY xmin::text",
      [organisation.organisationId]
    )
    assert.isAtMost(Math.max(...rows.map(({ count }) => count)), batch)
    assert.isAtLeast(rows.length, 3)
  })

  it("seals entries that an earlier release left unsealed", async () => {
    const organisation = await svc.organisation("Damaged")
    await allSealed(organisation)
    const xids = around(1_000)
    // As texts, 1000 and its successors precede 990, and the head is at 999.
    await insertEntries(
      organisation,
      xids.map((xid) => ({ xid, id: `aud_9${entryId(xid).slice(5)}` }))
    )
    await change(organisation, 1)
    await allSealed(organisation)
    const hidden = [992, 1_003, 1_007].map((xid) => ({ xid, id: `aud_8${entryId(xid).slice(5)}` }))
    await insertEntries(organisation, hidden)
    assert.strictEqual((await verify(organisation)).unsealed, 3)
    // An earlier release stored no heads; this process drops its cached one at the first failure.
    await admin.query("DELETE FROM audit_heads WHERE org = $1", [organisation.organisationId])
    await refusingSealOf(organisation, () =>
      change(organisation, 2).then(() => eventually(readyz, ({ status }) => status === "degraded"))
    )
    assert.deepInclude(await allSealed(organisation), { ok: true })
  })

  it("of one organisation may fail without stopping another's, and the failure is told", async () => {
    const broken = await svc.organisation("Broken")
    await allSealed(broken)
    await refusingSealOf(broken, async () => {
      await insertEntries(broken, [{ xid: await currentXid(), id: entryId(7), at: new Date(Date.now() - 60_000) }])
      await change(svc.first, 10_000)
      assert.deepInclude(await allSealed(svc.first), { ok: true })
      const told = await verify(broken)
      assert.deepInclude(told, { ok: false, firstBadSeq: null })
      assert.strictEqual(told.oldestUnsealed.id, entryId(7))
      const page = await eventually(readyz, ({ checks }) => checks.tasks.failing.length > 0)
      assert.strictEqual(page.status, "degraded")
      assert.strictEqual((await svc.ask("GET", "/readyz")).status, 200)
      assert.deepInclude(page.checks.tasks.failing[0], { name: "audit.seal" })
      assert.isFalse(page.checks.audit.ok)
      const { text } = await svc.ask("GET", "/metrics")
      assert.match(text, /^svc_audit_unsealed [1-9]/m)
      assert.match(text, /^svc_audit_oldest_unsealed_seconds [1-9]/m)
      assert.match(text, /^svc_task_failing\{task="audit.seal"\} 1$/m)
    })
    assert.deepInclude(await allSealed(broken), { ok: true })
    await eventually(readyz, ({ status }) => status === "ready")
  })
})
