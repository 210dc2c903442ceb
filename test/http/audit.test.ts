import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import { Client } from "pg"
import { canonicalJson } from "../../src/domain/Json.js"
import { type AuditAnswer, hashOf, sha256, storedForm, valueAtPath } from "../support/auditChain.js"
import { TestDatabase } from "../support/Database.js"
import { eventually } from "../support/eventually.js"
import { type Running, start } from "../support/InProcess.js"

let svc: Running
let key: string
beforeAll(async () => {
  svc = await start()
  key = svc.first.key
})
afterAll(() => svc.stop())

const trail = async (query: string): Promise<ReadonlyArray<AuditAnswer>> =>
  (await svc.ask("GET", `/api/v1/audit?${query}`, { key })).body.data
const verify = (query = "") => svc.ask("GET", `/api/v1/audit/verify${query}`, { key }).then(({ body }) => body.data)
const sealed = () =>
  eventually(
    () => verify(),
    ({ unsealed }) => unsealed === 0
  )

describe("the audit trail", () => {
  it("has one entry for each change, with who, what and which members", async () => {
    const made = await svc.ask("POST", "/api/v1/customers", {
      key,
      body: { name: "Watched" },
      from: "192.0.2.1",
      headers: { "user-agent": "test/1" }
    })
    const id = made.body.data.id
    await svc.ask("PUT", `/api/v1/customers/${id}`, { key, body: { name: "Renamed" } })
    await svc.ask("DELETE", `/api/v1/customers/${id}`, { key })
    const entries = await trail(`resource_id=${id}`)
    assert.deepStrictEqual(
      entries.map(({ action }) => action),
      ["customer.delete", "customer.update", "customer.create"]
    )
    const [, updated, created] = entries
    assert.deepInclude(updated, {
      changes: [{ path: "name", before: "Watched", after: "Renamed" }],
      outcome: "success",
      customerId: id
    })
    assert.deepInclude(created, {
      actor: {
        type: "service_account",
        id: (await svc.ask("GET", "/api/v1/api-keys", { key })).body.data.at(-1).id,
        name: "First key",
        ip: "192.0.2.1",
        userAgent: "test/1",
        onBehalfOf: null
      },
      requestId: made.headers["x-request-id"] ?? ""
    })
  })

  it("has one entry for each refusal and each failed change, and none for a change that was not made", async () => {
    const viewer = (await svc.ask("POST", "/api/v1/api-keys", { key, body: { name: "viewer", mode: "live" } })).body
      .data
    await svc.ask("POST", "/api/v1/customers", { key: viewer.key, body: { name: "no" } })
    await svc.ask("POST", `/api/v1/workflows/${svc.first.workflowId}/execute`, { key: viewer.key, body: {} })
    const denied = await eventually(
      () => trail(`actor_id=${viewer.id}`),
      (found) => found.length === 2
    )
    assert.deepStrictEqual(denied.map(({ action, outcome }) => [action, outcome]).sort(), [
      ["customer.create", "denied"],
      ["workflow.execute", "denied"]
    ])
    await svc.ask("PUT", "/api/v1/customers/cus_00000000000000000000000000", { key, body: {} })
    const [failed] = await eventually(
      () => trail("resource_id=cus_00000000000000000000000000"),
      (found) => found.length === 1
    )
    assert.deepInclude(failed, { action: "customer.update", outcome: "failure" })
  })

  /** Counted entries are written at the end of their minute. */
  const counted = (actor: string, total: number) =>
    eventually(
      () =>
        svc
          .ask("GET", `/api/v1/audit?actor_id=${actor}`, { key, later: "61 seconds" })
          .then(({ body }): ReadonlyArray<AuditAnswer> => body.data),
      (found) => found.reduce((sum, { count }) => sum + count, 0) >= total
    )

  it("counts the refused and rate-limited calls of a key per minute", async () => {
    const make = async (more: object) =>
      (await svc.ask("POST", "/api/v1/api-keys", { key, body: { name: "x", mode: "live", ...more } })).body.data
    const bound = await make({ allowedIps: ["192.0.2.1"] })
    for (let i = 0; i < 40; i++) await svc.ask("GET", "/api/v1/customers", { key: bound.key, from: "192.0.2.2" })
    const [barred, ...others] = await counted(bound.id, 40)
    // Two if the minute changed meanwhile.
    assert.isAtMost(others.length, 1)
    assert.deepInclude(barred, {
      action: "api_key.use",
      outcome: "denied",
      changes: [{ path: "error", before: null, after: "IP_NOT_ALLOWED" }]
    })
    const busy = await make({ preset: "full_access", rateLimitPerMinute: 1 })
    const path = "/api/v1/customers/cus_00000000000000000000000000"
    // Two are admitted if the minute changes meanwhile; of the others, two are in one minute.
    const answers = Array.from({ length: 6 }, () => svc.ask("PUT", path, { key: busy.key, body: { name: "x" } }))
    assert.include(
      (await Promise.all(answers)).map(({ status }) => status),
      429
    )
    const entries = await counted(busy.id, 6)
    assert.isAbove(Math.max(...entries.map(({ count }) => count)), 1)
    for (const { action, outcome } of entries) assert.deepStrictEqual([action, outcome], ["customer.update", "failure"])
  })

  it("has one entry for each run", async () => {
    const run = await svc.ask("POST", `/api/v1/workflows/${svc.first.workflowId}/execute`, { key, body: { input: {} } })
    const entries = await trail(`action=workflow.execute&resource_id=${svc.first.workflowId}`)
    const mine = entries.filter((entry) => canonicalJson(entry).includes(run.headers["x-svc-execution-id"] ?? "none"))
    assert.deepStrictEqual(
      mine.map(({ outcome }) => outcome),
      ["success"]
    )
  })

  it("counts reads by the minute", async () => {
    const reader = (
      await svc.ask("POST", "/api/v1/api-keys", { key, body: { name: "reader", mode: "live", preset: "full_access" } })
    ).body.data
    for (let i = 0; i < 5; i++) await svc.ask("GET", `/api/v1/customers/${svc.first.customerId}`, { key: reader.key })
    const entries = await eventually(
      () =>
        svc
          .ask("GET", `/api/v1/audit?actor_id=${reader.id}&action=customer.read`, { key, later: "61 seconds" })
          .then(({ body }): ReadonlyArray<AuditAnswer> => body.data),
      (found) => found.reduce((sum, { count }) => sum + count, 0) === 5
    )
    // Two if the minute changed meanwhile.
    assert.isAtMost(entries.length, 2)
  })

  it("is found by each of its filters", async () => {
    const count = async (query: string) => (await trail(query)).length
    assert.strictEqual(await count("action=no.such"), 0)
    assert.strictEqual(await count("actor_type=agent"), 0)
    assert.isAbove(await count("actor_type=service_account&resource_type=customer"), 0)
    assert.strictEqual(await count("to=2020-01-01"), 0)
    assert.isAbove(await count("from=2020-01-01"), 0)
    assert.isAbove(await count("resource_type=api_key"), 0)
    assert.strictEqual((await svc.ask("GET", "/api/v1/audit?actor_type=ghost", { key })).status, 400)
  })

  it("shows an organisation its own entries only", async () => {
    const other = await svc.organisation("Audited apart")
    await svc.ask("POST", "/api/v1/customers", { key: other.key, body: { name: "Theirs" } })
    const { body } = await svc.ask("GET", "/api/v1/audit", { key: other.key })
    assert.deepStrictEqual(
      body.data.map(({ organisationId }: { organisationId: string }) => organisationId),
      [other.organisationId]
    )
  })
})

describe("the bounds of a list in time", () => {
  it("are refused with the name of the parameter that was sent", async () => {
    for (const name of ["from", "to", "created_after", "created_before"]) {
      const refused = await svc.ask("GET", `/api/v1/audit?${name}=wat`, { key })
      assert.deepStrictEqual([refused.status, refused.body.code], [400, "INVALID_REQUEST"])
      assert.match(refused.body.message, new RegExp(`^${name} is not a time`))
    }
    const future = await trail("created_after=&from=2999-01-01T00:00:00Z")
    assert.deepStrictEqual(future, [], "an empty parameter counts as absent")
  })
})

describe("the chain", () => {
  it("is sealed, verifies, and can be recomputed from the API's answers", async () => {
    await svc.ask("POST", "/api/v1/customers", { key, body: { name: "Sealed" } })
    const found = await sealed()
    assert.deepInclude(found, { ok: true, firstBadSeq: null })
    assert.isAbove(found.checked, 5)
    const entries = (await trail("page_size=200")).filter(({ seq }) => seq !== null).toSorted((a, b) => a.seq - b.seq)
    let previous: string | null = null
    for (const [at, entry] of entries.entries()) {
      assert.deepStrictEqual([entry.seq, entry.prevHash], [at + 1, previous])
      assert.strictEqual(hashOf(storedForm(entry), entry.seq, previous), entry.hash)
      previous = entry.hash
    }
  })

  it("covers the values of a customer by commitments that anybody can check, and rests without them", async () => {
    const { body } = await svc.ask("POST", "/api/v1/customers", { key, body: { name: "Canary values" } })
    const [entry] = await trail(`resource_id=${body.data.id}`)
    assert.isDefined(entry)
    assert.includeMembers(
      entry.commitments.map(({ path }) => path),
      ["resource.name", "changes[0].after"]
    )
    for (const { hash, path, salt } of entry.commitments)
      assert.strictEqual(sha256(`${salt}\n${canonicalJson(valueAtPath(entry, path))}`), hash, path)
    assert.strictEqual(valueAtPath(entry, "resource.name"), "Canary values")
    const stored = await as("owner", (client) =>
      client.query("SELECT count(*)::int AS n FROM audit_entries e WHERE strpos(e::text, 'Canary values') > 0")
    )
    assert.deepStrictEqual(stored.rows, [{ n: 0 }])
  })

  it("is intact in a period without an entry", async () => {
    await sealed()
    const future = await verify("?from=2999-01-01T00:00:00Z")
    assert.deepInclude(future, { ok: true, checked: 0, firstBadSeq: null })
  })

  it("has a signed checkpoint outside the database", async () => {
    const { checkpoint } = await sealed()
    assert.strictEqual(checkpoint.organisationId, svc.first.organisationId)
    assert.match(checkpoint.signature, /^[0-9a-f]{64}$/)
  })

  const as = async <A>(
    role: "admin" | "owner" | "writer" | "app",
    body: (client: Client) => Promise<A>
  ): Promise<A> => {
    const { admin, urls } = await svc.run(TestDatabase)
    const client = new Client({ connectionString: Redacted.value(role === "admin" ? admin : urls[role]) })
    await client.connect()
    try {
      await client.query(`SELECT set_config('svc.org', $1, false)`, [svc.first.organisationId])
      return await body(client)
    } finally {
      await client.end()
    }
  }

  it.each(["owner", "writer", "app", "admin"] as const)(
    "refuses UPDATE, DELETE and TRUNCATE of both tables to the %s",
    async (role) => {
      await as(role, async (client) => {
        for (const table of ["audit_entries", "audit_seal"]) {
          for (const statement of [`UPDATE ${table} SET org = org`, `DELETE FROM ${table}`, `TRUNCATE ${table}`]) {
            const refusal = await client.query(statement).then(
              () => "done",
              (error: { code: string }) => error.code
            )
            assert.strictEqual(refusal, "42501", `${role}: ${statement}`)
          }
        }
      })
    }
  )

  const tampered = async (...statements: ReadonlyArray<string>) => {
    await as("admin", async (client) => {
      await client.query("SET session_replication_role = replica")
      for (const statement of statements) await client.query(statement)
    })
    return verify()
  }

  it("reports the entry that a superuser changed, removed or inserted", async () => {
    await sealed()
    const { checked, checkpoint } = await verify()
    const org = svc.first.organisationId
    const entryOf = (seq: number) => `(SELECT entry_id FROM audit_seal WHERE org = '${org}' AND seq = ${seq})`
    await as("admin", (client) =>
      client.query("CREATE TABLE kept_entries AS TABLE audit_entries; CREATE TABLE kept_seal AS TABLE audit_seal")
    )
    // Entries written meanwhile stay.
    const restore = [
      "DELETE FROM audit_seal WHERE entry_id IN (SELECT entry_id FROM kept_seal)",
      "DELETE FROM audit_entries WHERE id IN (SELECT id FROM kept_entries)",
      "INSERT INTO audit_entries TABLE kept_entries",
      "INSERT INTO audit_seal TABLE kept_seal"
    ]
    const broken = async (...statements: ReadonlyArray<string>) => {
      const found = await tampered(...statements)
      await tampered(...restore)
      return [found.ok, found.firstBadSeq]
    }
    assert.deepStrictEqual(
      await broken(
        `UPDATE audit_entries SET entry = replace(entry::text, 'First key', 'Other key')::json WHERE id = ${entryOf(3)}`
      ),
      [false, 3]
    )
    assert.deepStrictEqual(
      await broken(`UPDATE audit_seal SET hash = repeat('0', 64) WHERE org = '${org}' AND seq = 2`),
      [false, 2]
    )
    assert.deepStrictEqual(await broken(`DELETE FROM audit_seal WHERE org = '${org}' AND seq = 3`), [false, 3])
    assert.deepStrictEqual(await broken(`DELETE FROM audit_entries WHERE id = ${entryOf(3)}`), [false, 3])
    const cut = `SELECT entry_id FROM kept_seal WHERE org = '${org}' AND seq >= ${checkpoint.seq}`
    assert.deepStrictEqual(
      await broken(
        `DELETE FROM audit_seal WHERE entry_id IN (${cut})`,
        `DELETE FROM audit_entries WHERE id IN (${cut})`
      ),
      [false, checkpoint.seq]
    )
    // An attacker with the database can recompute the chain, but not forge the checkpoint.
    let previous: string | null = null
    const rewritten: Array<string> = []
    for (const entry of (await trail("page_size=200"))
      .filter(({ seq }) => seq !== null)
      .toSorted((a, b) => a.seq - b.seq)) {
      const plain = storedForm({ ...entry, action: `${entry.action}.never` })
      const hash: string = hashOf(plain, entry.seq, previous)
      rewritten.push(
        `UPDATE audit_entries SET entry = '${JSON.stringify(plain).replaceAll("'", "''")}' WHERE id = '${entry.id}'`,
        `UPDATE audit_seal SET prev_hash = ${previous === null ? "NULL" : `'${previous}'`}, hash = '${hash}' WHERE entry_id = '${entry.id}'`
      )
      previous = hash
    }
    assert.deepStrictEqual(await broken(...rewritten), [false, checkpoint.seq])
    const whole = await verify()
    assert.deepInclude(whole, { ok: true })
    assert.isAtLeast(whole.checked, checked)
  })
})
