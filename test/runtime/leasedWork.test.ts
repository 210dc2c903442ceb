/** Leased work goes to one node at a time, whatever its kind, and its kinds are data that one statement can ask for. */
import { assert } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { type DueKind, endFormerLeases, hasWork, makeLeasedWork } from "../../src/runtime/postgres/LeasedWork.js"
import { WriterSql } from "../support/Sql.js"
import { work as workOfReplays } from "../../src/runtime/postgres/event/DeadLetters.js"
import { work as workOfPolls } from "../../src/runtime/postgres/trigger/Polls.js"
import { startQueue } from "../../src/runtime/postgres/WorkKinds.js"
import { leasedTasks } from "../../src/runtime/program/LeasedTasks.js"
import { layer as database, ownerSql } from "../support/Database.js"
import { aloneNode } from "../support/ownership.js"
import { layer } from "../support/layer.js"
import { scaled } from "../support/slowness.js"

const [polls] = workOfPolls
const [replays] = workOfReplays

/** Those of the tasks, and the start queue, which has a task of its own. */
const kinds: ReadonlyArray<DueKind> = [
  startQueue,
  ...leasedTasks
    .flatMap(({ work }): ReadonlyArray<DueKind | string> => work)
    .flatMap((one) => (typeof one === "string" ? [] : [one]))
]

const withConnection = Layer.effectDiscard(
  Effect.scoped(
    Effect.gen(function* () {
      const sql = yield* ownerSql
      yield* sql`INSERT INTO organisations (id, name, slug, plan) VALUES ('org_a', 'A', 'a', 'unlimited')`
      yield* sql`INSERT INTO customers (id, org, name, slug) VALUES ('cus_a', 'org_a', 'A', 'a')`
      yield* sql`INSERT INTO connections (id, org, customer_id, connector, connector_version, label, auth_method, status, health,
          created_by) VALUES ('con_a', 'org_a', 'cus_a', 'crm', '1', 'A', 'none', 'active', '{}', 'test')`
    })
  )
)

/** Polls of which no trigger is needed. */
const anyPolls = { ...polls, isWanted: "true" }
const addPolls = Effect.flatMap(
  WriterSql,
  (sql) => sql`INSERT INTO polls (connection_id, event, org, connector)
    SELECT 'con_a', 'a|' || n, 'org_a', 'crm' FROM generate_series(1, 300) n`
)
const pollIds = Array.from({ length: 300 }, (_, n) => ({ id: `con_a|a|${n + 1}` }))

layer(Layer.merge(withConnection, aloneNode).pipe(Layer.provideMerge(database)), {
  excludeTestServices: true,
  timeout: scaled(120_000)
})("leased work", (it) => {
  it.effect("of all kinds is asked for in one statement", () =>
    Effect.gen(function* () {
      const sql = yield* WriterSql
      const ask = Effect.map(
        sql.unsafe<{ readonly [kind: string]: boolean }>(
          `SELECT ${kinds.map((kind, at) => `${hasWork(kind)} AS "${kind.table}, ${at}"`).join(", ")}`
        ),
        ([row = {}]) =>
          Object.keys(row)
            .filter((name) => row[name])
            .map((name) => name.split(",")[0])
      )
      assert.deepStrictEqual(yield* ask, [])
      yield* addPolls
      yield* sql`INSERT INTO domain_events (id, org, type, subject, payload) VALUES ('evt_1', 'org_a', 'a.b', 's', '{}')`
      assert.deepStrictEqual(yield* ask, ["polls", "domain_events"])
      yield* makeLeasedWork(sql, anyPolls).leaseDue(1_000)
      assert.deepStrictEqual(yield* ask, ["domain_events"])
      yield* sql`DELETE FROM polls`
    })
  )

  it.effect("is leased to one of several nodes at once, and again after its lease", () =>
    Effect.gen(function* () {
      const sql = yield* WriterSql
      yield* addPolls
      const { lease, leaseDue, renew } = makeLeasedWork(sql, anyPolls)
      const taken = (yield* Effect.all([lease(pollIds), leaseDue(200), lease(pollIds), leaseDue(200), leaseDue(200)], {
        concurrency: "unbounded"
      })).flat()
      const rest = yield* leaseDue(1_000)
      const ids = [...taken, ...rest].map(({ id }) => id)
      assert.strictEqual(new Set(ids).size, ids.length, "one job went to two nodes")
      assert.sameMembers(
        ids,
        pollIds.map(({ id }) => id)
      )
      yield* sql`UPDATE polls SET leased_until = now() - interval '1 second' WHERE event IN ('a|1', 'a|2')`
      yield* renew({ id: "con_a|a|2", organisationId: "org_a" })
      assert.deepStrictEqual(
        (yield* lease(pollIds)).map(({ id }) => id),
        ["con_a|a|1"]
      )
      yield* endFormerLeases(sql, polls)
      assert.strictEqual((yield* leaseDue(1_000)).length, 300)
      yield* sql`DELETE FROM polls`
    })
  )

  it.effect("is leased in the order of the times since which it is due, without what is set aside", () =>
    Effect.gen(function* () {
      const sql = yield* WriterSql
      yield* sql`INSERT INTO replays (id, org, space, filter, most, per_second, created_by, next_at)
        SELECT 'rpl_' || n, 'org_a', 'spc_a', '{}', 1, 1, 'test', now() - n * interval '1 minute' FROM generate_series(1, 5) n`
      yield* sql`INSERT INTO failed_jobs (task, job, org, failures, reason, set_aside_until)
        VALUES ('events.replay', 'rpl_4', 'org_a', 3, 'a test', now() + interval '1 hour')`
      const { leaseDue } = makeLeasedWork(sql, replays)
      assert.sameMembers(
        (yield* leaseDue(2)).map(({ id }) => id),
        ["rpl_5", "rpl_3"]
      )
      assert.sameMembers(
        (yield* leaseDue(2)).map(({ id }) => id),
        ["rpl_2", "rpl_1"]
      )
    })
  )
})
