/**
 * Purges and partitions on real Postgres: the test inserts old and new rows, and one pass removes only the old ones.
 */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { runMaintenance } from "../../src/runtime/postgres/database/Maintenance.js"
import { WriterSql } from "../support/Sql.js"
import { layer as database, ownerSql } from "../support/Database.js"
import { layer } from "../support/layer.js"
import { scaled } from "../support/slowness.js"

const org = "org_a"

/** Rows of one kind that a pass must remove and must keep: how they are inserted, and where their names are read. */
interface Kind {
  readonly name: string
  readonly insert: ReadonlyArray<string>
  readonly names: string
  readonly stay: ReadonlyArray<string>
}

const ulid = (prefix: string, age: string, tail: string) =>
  `'${prefix}_' || substr(svc_ulid_bound(now() - interval '${age}'), 6) || '${tail.padStart(16, "0")}'`
const delivery = (tail: string, age: string, status: string) =>
  `INSERT INTO deliveries (id, org, space, kind, url, payload, status, finished_at)
   VALUES (${ulid("dlv", age, tail)}, '${org}', 'spc_a', 'callback', 'https://${tail}.example/', '{}', '${status}',
     ${status === "pending" ? "NULL" : `now() - interval '${age}'`})`
const value = (key: string, scope: string, owner: string, updated: string, expires = "NULL") =>
  `INSERT INTO key_values (org, space, scope, environment, owner, key, value, expires_at, updated_at)
   VALUES ('${org}', 'spc_a', '${scope}', 'live', '${owner}', '${key}', '1', ${expires}, now() - interval '${updated}')`
/** A finished run of a customer, with all its rows. */
const runOf = (customer: string) => [
  `INSERT INTO executions (id, class, org, space, status, workflow_id, customer_id, trigger_type, finished_at, record)
   VALUES ('exec_${customer}', 30, '${org}', 'spc_a', 'completed', 'wf_a', '${customer}', 'api', now(), '{}')`,
  `INSERT INTO steps (id, class, org, index, status, record) VALUES ('exec_${customer}', 30, '${org}', 0, 'completed', '{}')`,
  `INSERT INTO logs (id, class, org, seq, lines) VALUES ('exec_${customer}', 30, '${org}', 0, '[]')`,
  `INSERT INTO blobs (id, class, org, blob_id, content) VALUES ('exec_${customer}', 30, '${org}', 'blob_a', '1')`
]

const secret = (name: string, deleted: string | null, ...versions: ReadonlyArray<string | null>) => [
  `INSERT INTO secrets (id, org, space, name, type, current, deleted_at)
   VALUES ('sec_${name}', '${org}', 'spc_a', '${name}', 'text', ${versions.length}, ${deleted === null ? "NULL" : `now() - interval '${deleted}'`})`,
  ...versions.map(
    (retired, i) => `INSERT INTO secret_versions (org, secret_id, number, sealed, retired_at)
    VALUES ('${org}', 'sec_${name}', ${i + 1}, '\\x00', ${retired === null ? "NULL" : `now() - interval '${retired}'`})`
  )
]
const finished = (id: string, age: string) =>
  `INSERT INTO executions (id, class, org, space, status, workflow_id, trigger_type, finished_at, record)
   VALUES ('${id}', 365, '${org}', 'spc_a', 'completed', 'wf_a', 'api', now() - interval '${age}', '{}')`
const running = (id: string, root: string) =>
  `INSERT INTO runs (id, org, space, shard, epoch, engine, class, status, tier, priority, workflow_id, trigger_type, attempt,
     deadline_at, created_at, record)
   VALUES ('${id}', '${org}', 'spc_a', 1, 1, 'e', 365, 'running', 'long', 1, 'wf_a', 'api', 1, now() + interval '1 day', now(),
     json_build_object('rootId', '${root}'))`

const kinds: ReadonlyArray<Kind> = [
  {
    name: "claims that have expired",
    insert: [
      `INSERT INTO claims (org, scope, key, target_id, expires_at) SELECT '${org}', 'idem', 'old' || n, 'x', now() - interval '1 second' FROM generate_series(1, 2500) n`,
      `INSERT INTO claims (org, scope, key, target_id, expires_at) VALUES ('${org}', 'idem', 'live', 'x', now() + interval '1 minute')`
    ],
    names: "SELECT key AS name FROM claims",
    stay: ["live"]
  },
  {
    name: "replies to repeated requests that have expired",
    insert: [
      ["old", "-1 second"],
      ["live", "1 minute"]
    ].map(
      ([key, due]) =>
        `INSERT INTO idempotent_replies (org, key, hash, sealed, expires_at) VALUES ('${org}', '${key}', 'h', '\\x00', now() + interval '${due}')`
    ),
    names: "SELECT key AS name FROM idempotent_replies",
    stay: ["live"]
  },
  {
    name: "state past its time to live",
    insert: [
      value("old", "ORG", "", "1 minute", "now() - interval '1 second'"),
      value("ttl", "ORG", "", "1 minute", "now() + interval '1 hour'"),
      value("for ever", "ORG", "", "2 years"),
      value("of a workflow", "WORKFLOW", "wf_a", "2 years")
    ],
    names: "SELECT key AS name FROM key_values WHERE scope IN ('ORG', 'WORKFLOW')",
    stay: ["for ever", "of a workflow", "ttl"]
  },
  {
    name: "state of invocations seven days after their end",
    insert: [
      finished("exec_00000000000000000000000old", "8 days"),
      value("ended long ago", "INVOCATION", "exec_00000000000000000000000old", "8 days"),
      value("its record is dropped already", "INVOCATION", "exec_0000000000000000000000lost", "8 days"),
      finished("exec_0000000000000000000recent", "6 days"),
      value("ended lately", "INVOCATION", "exec_0000000000000000000recent", "8 days"),
      running("exec_00000000000000000000again", "exec_00000000000000000000chain"),
      finished("exec_00000000000000000000chain", "9 days"),
      value("resumed", "INVOCATION", "exec_00000000000000000000chain", "9 days"),
      finished("exec_00000000000000000000touch", "9 days"),
      value("written lately", "INVOCATION", "exec_00000000000000000000touch", "1 day")
    ],
    names: "SELECT key AS name FROM key_values WHERE scope = 'INVOCATION'",
    stay: ["ended lately", "resumed", "written lately"]
  },
  {
    name: "counts of calls of days gone by",
    insert: [
      ["old", "25 hours"],
      ["now", "1 minute"]
    ].map(
      ([bucket, age]) =>
        `INSERT INTO rate_windows (org, bucket, minute, granted) VALUES ('${org}', '${bucket}', now() - interval '${age}', 1)`
    ),
    names: "SELECT bucket AS name FROM rate_windows",
    stay: ["now"]
  },
  {
    name: "deliveries after a week, given up ones after a month",
    insert: [
      delivery("delivered-old", "8 days", "delivered"),
      delivery("delivered", "6 days", "delivered"),
      delivery("given-up", "8 days", "exhausted"),
      delivery("given-up-old", "31 days", "exhausted"),
      delivery("still-waiting", "40 days", "pending")
    ],
    names: "SELECT url AS name FROM deliveries",
    stay: ["https://delivered.example/", "https://given-up.example/", "https://still-waiting.example/"]
  },
  {
    name: "values of secrets that no journal can name",
    insert: [
      ...secret("ROTATED", null, "11 days", "9 days", null),
      ...secret("DELETED", "11 days", "12 days", null),
      ...secret("DELETED_LATELY", "9 days", null)
    ],
    names:
      "SELECT substr(s.id, 5) || coalesce('/' || v.number, '') AS name FROM secrets s LEFT JOIN secret_versions v ON v.secret_id = s.id",
    stay: ["DELETED_LATELY/1", "ROTATED/2", "ROTATED/3"]
  }
]

const tenant = [
  `INSERT INTO organisations (id, name, slug, plan) VALUES ('${org}', 'a', 'a', 'free') ON CONFLICT DO NOTHING`,
  `INSERT INTO workspaces (id, org, name, slug) VALUES ('spc_a', '${org}', 'a', 'a') ON CONFLICT DO NOTHING`
]

layer(database, { excludeTestServices: true, timeout: scaled(120_000) })("a pass of maintenance", (it) => {
  for (const { insert, name, names, stay } of kinds) {
    it.effect(`removes ${name}, and nothing else`, () =>
      Effect.scoped(
        Effect.gen(function* () {
          const owner = yield* ownerSql
          const sql = yield* WriterSql
          for (const statement of [...tenant, ...insert]) yield* owner.unsafe(statement)
          const before = yield* sql.unsafe<{ name: string }>(names)
          assert.isAbove(before.length, stay.length)
          assert.isTrue(yield* runMaintenance)
          const after = yield* sql.unsafe<{ name: string }>(names)
          assert.deepStrictEqual(after.map((row) => row.name).sort(), stay)
        })
      )
    )
  }

  it.effect("erases a deleted customer's rows, and its tombstone after thirty days", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const owner = yield* ownerSql
        for (const statement of tenant) yield* owner.unsafe(statement)
        for (const [id, deleted] of [
          ["cus_live", null],
          ["cus_fresh", "1 hour"],
          ["cus_gone", "23 hours"],
          ["cus_buried", "31 days"]
        ] as const) {
          yield* owner.unsafe(`INSERT INTO customers (id, org, name, slug, external_ref, admin_email, metadata, deleted_at)
          VALUES ('${id}', '${org}', 'Name of ${id}', '${id}', 'ref-${id}', 'a@${id}.example', '{"a":1}', ${deleted === null ? "NULL" : `now() - interval '${deleted}'`})`)
          yield* owner.unsafe(value(id, "CUSTOMER", id, "1 day"))
          yield* owner.unsafe(
            `INSERT INTO secrets (id, org, space, name, type, customer_id, current) VALUES ('sec_${id}', '${org}', 'spc_a', 'OF_${id}', 'text', '${id}', 1)`
          )
          yield* owner.unsafe(
            `INSERT INTO secret_versions (org, secret_id, number, sealed) VALUES ('${org}', 'sec_${id}', 1, '\\x00')`
          )
          yield* owner.unsafe(
            `INSERT INTO environments (id, org, customer_id, name, slug) VALUES ('env_${id}', '${org}', '${id}', 'e', 'e')`
          )
          for (const run of runOf(id)) yield* owner.unsafe(run)
        }
        assert.isTrue(yield* runMaintenance)
        const names = (query: string) =>
          Effect.map(owner.unsafe<{ name: string }>(query), (rows) => rows.map((row) => row.name).sort())
        const alive = ["cus_fresh", "cus_live"]
        assert.deepStrictEqual(yield* names("SELECT owner AS name FROM key_values WHERE scope = 'CUSTOMER'"), alive)
        assert.deepStrictEqual(
          yield* names("SELECT customer_id AS name FROM secrets WHERE customer_id IS NOT NULL"),
          alive
        )
        assert.deepStrictEqual(
          yield* names("SELECT customer_id AS name FROM environments WHERE customer_id IS NOT NULL"),
          alive
        )
        for (const table of ["executions", "steps", "logs", "blobs"]) {
          assert.deepStrictEqual(
            yield* names(`SELECT substr(id, 6) AS name FROM ${table} WHERE id LIKE 'exec_cus%'`),
            alive,
            table
          )
        }
        assert.deepStrictEqual(yield* names("SELECT id || ' ' || name AS name FROM customers"), [
          "cus_fresh Name of cus_fresh",
          "cus_gone ",
          "cus_live Name of cus_live"
        ])
        const [tombstone] = yield* owner.unsafe<object>(
          `SELECT external_ref AS ref, admin_email AS email, metadata::text AS metadata, slug, erased_at IS NOT NULL AS erased FROM customers WHERE id = 'cus_gone'`
        )
        assert.deepStrictEqual(tombstone, { ref: null, email: null, metadata: "{}", slug: "cus_gone", erased: true })
      })
    )
  )

  it.effect("creates partitions ahead, and drops those past their retention", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const owner = yield* ownerSql
        const partitions = Effect.map(
          owner.unsafe<{ name: string }>(
            "SELECT relname AS name FROM pg_class WHERE relispartition AND relkind = 'r' AND relname ~ '_[0-9]{8}$'"
          ),
          (rows) => rows.map((row) => row.name).sort()
        )
        const made = yield* partitions
        const daysAhead = (n: number) =>
          new Date(Date.now() + n * 86_400_000).toISOString().slice(0, 10).replaceAll("-", "")
        const ahead = ["executions_7", "steps_7", "logs_7", "blobs_7", "journal", "event_counts_3"].flatMap((table) =>
          [0, 1, 2].map((n) => `${table}_${daysAhead(n)}`)
        )
        for (const name of ahead) assert.include(made, name)
        for (const name of ahead) yield* owner.unsafe(`DROP TABLE ${name}`)
        // The partitions of a service that has run for years; the last one is still within the retention.
        const past = (parent: string, day: number) => {
          const name = `${parent}_${daysAhead(-day)}`
          const bound = (n: number) =>
            `svc_ulid_bound(date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' - interval '${n} days')`
          return Effect.gen(function* () {
            const [row] = yield* owner.unsafe<{ low: string; high: string }>(
              `SELECT ${bound(day)} AS low, ${bound(day - 1)} AS high`
            )
            yield* owner.unsafe(
              `CREATE TABLE ${name} PARTITION OF ${parent} FOR VALUES FROM ('${row?.low}') TO ('${row?.high}')`
            )
            return name
          })
        }
        const pastCounts = (parent: string, day: number) => {
          const name = `${parent}_${daysAhead(-day)}`
          const minute = (n: number) => (Math.floor(Date.now() / 86_400_000) - n) * 1_440
          return Effect.as(
            owner.unsafe(
              `CREATE TABLE ${name} PARTITION OF ${parent} FOR VALUES FROM (${minute(day)}) TO (${minute(day - 1)})`
            ),
            name
          )
        }
        const dropped = yield* Effect.all([
          pastCounts("event_counts_3", 5),
          pastCounts("event_counts_14", 40),
          past("executions_7", 10),
          past("steps_7", 400),
          past("logs_30", 40),
          past("blobs_365", 400),
          past("journal", 13)
        ])
        const kept = yield* Effect.all([
          pastCounts("event_counts_3", 3),
          pastCounts("event_counts_14", 14),
          past("executions_7", 6),
          past("executions_30", 25),
          past("steps_365", 300),
          past("journal", 9)
        ])
        assert.isTrue(yield* runMaintenance)
        const after = yield* partitions
        for (const name of ahead) assert.include(after, name)
        for (const name of dropped) assert.notInclude(after, name)
        for (const name of kept) assert.include(after, name)
      })
    )
  )

  it.effect("is run by one node at a time", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const sql = yield* WriterSql
        const other = yield* sql.reserve
        yield* other.executeValues("SELECT pg_advisory_lock(1937137968)", [])
        assert.isFalse(yield* runMaintenance)
        yield* other.executeValues("SELECT pg_advisory_unlock(1937137968)", [])
        assert.isTrue(yield* runMaintenance)
        assert.isTrue(yield* runMaintenance)
      })
    )
  )
})
