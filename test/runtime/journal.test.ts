import { assert, describe } from "@effect/vitest"
import { Effect, Either, Fiber, Option, Redacted } from "effect"
import { Client } from "pg"
import { Journal, type OpenRun } from "../../src/actors/ports/run/Journal.js"
import { Runs } from "../../src/actors/ports/run/Runs.js"
import { StartQueue, type TakenWork } from "../../src/actors/ports/run/StartQueue.js"
import { decide, evolve } from "../../src/domain/run/Execution.js"
import type { EventId, OrganisationId, TriggerId } from "../../src/domain/Ids.js"
import { connect } from "../../src/runtime/postgres/database/Pools.js"
import { WriterSql } from "../support/Sql.js"
import { TestDatabase } from "../support/Database.js"
import { change, doneEntry, executionId, layer, openingChange, openRun, organisation } from "../support/journal.js"
import { layer as withLayer } from "../support/layer.js"

/** The number of entries in a run's journal. */
const entriesOf = ({ id }: OpenRun) =>
  Effect.flatMap(Journal, (journal) =>
    Effect.map(journal.index(organisation, id), ({ rest, start }) => (start === undefined ? rest : [start, ...rest]))
  )

const none: ReadonlyMap<OrganisationId, number> = new Map()

const finished = (run: ReturnType<typeof openRun>) => ({
  run,
  status: "completed" as const,
  statusReason: null,
  finishedAt: Date.now(),
  output: { ok: true },
  error: null,
  metrics: {}
})

describe("The journal", () => {
  withLayer(layer, { excludeTestServices: true })((it) => {
    it.effect("a former owner of a run writes nothing after the takeover", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const runs = yield* Runs
        const run = openRun()
        yield* journal.append(openingChange(run))
        const taken = Option.getOrThrow(yield* runs.takeOver(run.id))
        assert.strictEqual(taken.epoch, 2)
        const zombie = yield* Effect.flip(journal.append(change(run, { journal: [doneEntry(1)], end: finished(run) })))
        assert.strictEqual(zombie._tag, "Fenced")
        assert.lengthOf(yield* entriesOf(run), 1)
        assert.isTrue(Option.isSome(yield* runs.get(organisation, run.id)))
        yield* journal.append(change(taken, { journal: [doneEntry(1)] }))
        assert.lengthOf(yield* entriesOf(run), 2)
      })
    )

    it.scoped("in both interleavings of a former owner and a takeover, what the new owner reads is final", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const runs = yield* Runs
        const { admin } = yield* TestDatabase
        const connection = Effect.acquireRelease(
          Effect.promise(async () => {
            const client = new Client({ connectionString: Redacted.value(admin) })
            await client.connect()
            return client
          }),
          (client) => Effect.promise(() => client.end())
        )
        const lock = yield* connection
        const watch = yield* connection
        let fenced = 0
        let first = 0
        for (let i = 0; i < 40; i++) {
          const run = openRun()
          yield* journal.append(openingChange(run))
          // Both wait for the same row lock; the order of arrival decides which gets it first.
          const waiting = (n: number) =>
            Effect.promise(async () => {
              const { rows } = await watch.query<{ n: number }>(
                `SELECT count(*)::int AS n FROM pg_stat_activity
                   WHERE backend_type = 'client backend' AND datname = current_database() AND wait_event_type = 'Lock'`
              )
              return rows[0]?.n ?? 0
            }).pipe(Effect.repeat({ until: (found) => found >= n }))
          yield* Effect.promise(() => lock.query("BEGIN"))
          yield* Effect.promise(() => lock.query("SELECT id FROM runs WHERE id = $1 FOR UPDATE", [run.id]))
          const append = Effect.either(journal.append(change(run, { journal: [doneEntry(1)] })))
          const takeOver = Effect.zipRight(runs.takeOver(run.id), entriesOf(run))
          const forked = (zombieFirst: boolean) =>
            Effect.gen(function* () {
              if (!zombieFirst) {
                const b = yield* Effect.fork(takeOver)
                yield* waiting(1)
                return [yield* Effect.fork(append), b] as const
              }
              const a = yield* Effect.fork(append)
              yield* waiting(1)
              return [a, yield* Effect.fork(takeOver)] as const
            })
          const [a, b] = yield* forked(i % 2 === 0)
          yield* waiting(2)
          yield* Effect.promise(() => lock.query("COMMIT"))
          const [outcome, rows] = [yield* Fiber.join(a), yield* Fiber.join(b)]
          if (Either.isLeft(outcome)) {
            assert.strictEqual(outcome.left._tag, "Fenced")
            fenced++
          } else first++
          assert.lengthOf(rows, Either.isRight(outcome) ? 2 : 1)
          assert.lengthOf(yield* entriesOf(run), rows.length)
        }
        assert.isAbove(fenced, 0)
        assert.isAbove(first, 0)
      })
    )

    it.scoped("a connection lost during a commit loses nothing and writes nothing twice", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const { admin } = yield* TestDatabase
        const owner = yield* Effect.orDie(connect(admin, { maxConnections: 1, applicationName: "svc test" }))
        const runs = Array.from({ length: 40 }, () => openRun())
        const work = Effect.forEach(
          runs,
          (run) =>
            Effect.gen(function* () {
              yield* journal.append(openingChange(run))
              for (let seq = 1; seq <= 10; seq++) yield* journal.append(change(run, { journal: [doneEntry(seq)] }))
              yield* journal.append(change(run, { end: finished(run) }))
            }),
          { concurrency: "unbounded" }
        )
        const cut = owner`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND application_name LIKE 'svc journal %'`.pipe(
          Effect.delay("15 millis"),
          Effect.repeatN(15)
        )
        yield* Effect.all([work, cut], { concurrency: "unbounded" })
        for (const run of runs) assert.lengthOf(yield* entriesOf(run), 11)
        const sql = yield* WriterSql
        const [rows] = yield* sql<{
          n: number
        }>`SELECT count(*)::int AS n FROM executions WHERE id IN ${sql.in(runs.map((run) => run.id))}`
        assert.strictEqual(rows?.n, runs.length)
      })
    )

    it.effect("a claim belongs to the first run that commits it, and is free after its expiry", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const claim = (expiresAt: number) => ({
          scope: "idem" as const,
          key: `k${executionId()}`,
          hash: "a",
          expiresAt
        })
        const shared = claim(Date.now() + 60_000)
        const runs = Array.from({ length: 20 }, () => openRun())
        const results = yield* Effect.forEach(
          runs,
          (run) => Effect.either(journal.append(openingChange(run, { claim: shared }))),
          { concurrency: "unbounded" }
        )
        const winners = runs.filter((_, i) => Either.isRight(results[i] ?? Either.left(undefined)))
        assert.lengthOf(winners, 1)
        for (const result of results) {
          if (Either.isRight(result)) continue
          assert.strictEqual(result.left._tag, "ClaimTaken")
          if (result.left._tag === "ClaimTaken")
            assert.deepStrictEqual([result.left.target, result.left.hash], [winners[0]?.id, "a"])
        }
        const expired = claim(Date.now() - 1_000)
        yield* journal.append(openingChange(openRun(), { claim: expired }))
        yield* journal.append(openingChange(openRun(), { claim: { ...expired, expiresAt: Date.now() + 60_000 } }))
      })
    )

    it.effect("changes of one run are written in order, whatever is in flight", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const runs = yield* Runs
        const run = openRun()
        const changes = [
          openingChange(run),
          ...Array.from({ length: 30 }, (_, i) =>
            change(run, { journal: [doneEntry(i + 1)], patch: { attempt: i + 1 } })
          )
        ]
        yield* Effect.forEach(changes, (one) => journal.append(one), { concurrency: "unbounded" })
        assert.strictEqual(Option.getOrThrow(yield* runs.get(organisation, run.id)).attempt, 30)
        const entries = yield* entriesOf(run)
        assert.deepStrictEqual(
          entries.map((entry) => (entry.kind === "done" ? entry.call : -1)),
          [-1, ...Array.from({ length: 30 }, (_, i) => i)]
        )
      })
    )

    it.effect("a run ends once", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const run = openRun()
        yield* journal.append(openingChange(run))
        const ends = yield* Effect.forEach(
          Array.from({ length: 10 }),
          () => Effect.either(journal.append(change(run, { end: finished(run) }))),
          { concurrency: "unbounded" }
        )
        assert.lengthOf(ends.filter(Either.isRight), 1)
        assert.isTrue(ends.every((end) => Either.isRight(end) || end.left._tag === "Fenced"))
      })
    )

    it.scoped("the failure of a schedule's run counts once, although its statement is sent twice", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const { admin } = yield* TestDatabase
        const sql = yield* Effect.orDie(connect(admin, { maxConnections: 1, applicationName: "svc test" }))
        yield* sql`INSERT INTO organisations (id, name, slug, plan) VALUES (${organisation}, 'Ticks', 'ticks', 'unlimited')`
        yield* sql`INSERT INTO triggers (id, org, space, type, name, status, routes, workflow_ids, environments, delivery, created_by)
          VALUES ('trg_1', ${organisation}, 's', 'schedule', 'n', 'active', '[]', '{}', '{}', '{}', 'k')`
        yield* sql`INSERT INTO trigger_states (trigger_id, org, consecutive_failures) VALUES ('trg_1', ${organisation}, 3)`
        const origin = {
          id: "evt_1" as EventId,
          retention: 90,
          triggerId: "trg_1" as TriggerId,
          connector: null,
          customerId: null,
          type: "schedule.trg_1",
          priority: 3,
          replays: 0
        } as const
        const running = openRun()
        // It ends before it has an owner, so that no fence refuses the second statement.
        const run = openRun({
          ...running,
          status: "pending",
          triggerType: "schedule",
          record: { ...running.record, event: origin }
        })
        const end = change(run, { epoch: null, end: { ...finished(run), status: "timed_out" } })
        yield* journal.append(end)
        yield* journal.append(end)
        const [state] = yield* sql<{ n: number }>`SELECT consecutive_failures AS n FROM trigger_states`
        assert.strictEqual(state?.n, 4)
      })
    )

    it.effect("a queued run starts once, and the priority classes share the slots by their weights", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const queue = yield* StartQueue
        const shard = 77
        const queued = Array.from({ length: 150 }, (_, i) =>
          openRun({ shard, status: "pending", startedAt: null, wakeAt: null, priority: ((i % 4) + 1) as 1 | 2 | 3 | 4 })
        )
        yield* Effect.forEach(
          queued,
          (run) => journal.append(openingChange(run, { enqueue: { notBefore: Date.now() } })),
          {
            concurrency: "unbounded"
          }
        )
        const first = (yield* queue.take([shard], 30, none, null)).runs
        const shares = [1, 2, 3, 4].map((priority) => first.filter((run) => run.priority === priority).length)
        assert.deepStrictEqual(shares, [16, 8, 4, 2])
        const rest = yield* Effect.forEach(Array.from({ length: 20 }), () => queue.take([shard], 20, none, null), {
          concurrency: "unbounded"
        })
        const ids = [...first, ...rest.flatMap(({ runs: started }) => started)].map((run) => run.id)
        assert.strictEqual(new Set(ids).size, ids.length)
        const again = (yield* queue.take([shard], 200, none, null)).runs
        assert.strictEqual(ids.length + again.length, queued.length)
        assert.isTrue([...first, ...again].every((run) => run.status === "running" && run.epoch === 2))
      })
    )

    it.effect("the statements that start and resume runs make the transitions of the state machine", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const runs = yield* Runs
        const queue = yield* StartQueue
        const lifeOf = ({ attempt, deadlineAt, startedAt, status, waiting, wakeAt }: OpenRun) => ({
          attempt,
          deadlineAt,
          startedAt,
          status,
          waiting,
          wakeAt
        })
        for (const tier of ["instant", "standard", "long"] as const) {
          const shard = { instant: 901, standard: 902, long: 903 }[tier]
          const pending = openRun({ tier, shard, status: "pending", wakeAt: null, startedAt: null })
          yield* journal.append(openingChange(pending, { enqueue: { notBefore: Date.now() - 1_000 } }))
          const [claimed] = (yield* queue.take([shard], 1, none, null)).runs
          const run = claimed ?? assert.fail("nothing was claimed")
          const start = decide(pending, { _tag: "Start", at: run.startedAt ?? assert.fail("not started") })
          assert(start._tag === "Started")
          assert.deepStrictEqual(lifeOf(run), lifeOf(evolve(pending, start)))

          const until = Date.now() + 60_000
          const waiting = { kind: "wait", step: "timer.set#1", until } as const
          const suspend = decide(run, { _tag: "Suspend", at: Date.now(), waiting })
          assert(suspend._tag === "Suspended")
          const { deadlineAt, wakeAt } = suspend
          yield* journal.append(change(run, { patch: { deadlineAt, wakeAt, waiting } }))
          const suspended = Option.getOrThrow(yield* runs.get(organisation, run.id))
          assert.deepStrictEqual(lifeOf(suspended), lifeOf(evolve(run, suspend)))

          const taken = Option.getOrThrow(yield* runs.takeOver(run.id))
          const resume = decide(suspended, { _tag: "Resume", at: taken.wakeAt ?? assert.fail("not taken up") })
          assert(resume._tag === "Resumed")
          assert.deepStrictEqual(lifeOf(taken), lifeOf(evolve(suspended, resume)))
        }
        const never = openRun({ status: "pending", wakeAt: null, startedAt: null })
        yield* journal.append(openingChange(never))
        assert.strictEqual(decide(never, { _tag: "Resume", at: 0 })._tag, "Refused")
        assert.isTrue(Option.isNone(yield* runs.takeOver(never.id)))
      })
    )

    it.effect("an organisation has as many runs in progress as its plan allows, and others start meanwhile", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const queue = yield* StartQueue
        const sql = yield* WriterSql
        const shard = 79
        const small = "org_01jd0000000000000000000002" as typeof organisation
        const other = "org_01jd0000000000000000000003" as typeof organisation
        yield* sql`INSERT INTO organisations (id, name, slug, plan) VALUES (${small}, 'Small', 'small', 'starter')`
        const enqueue = (organisationId: typeof organisation, priority: 1 | 2) =>
          journal.append(
            openingChange(
              openRun({ shard, organisationId, status: "pending", startedAt: null, wakeAt: null, priority }),
              {
                enqueue: { notBefore: Date.now() }
              }
            )
          )
        yield* Effect.forEach(Array.from({ length: 40 }), () => enqueue(small, 1), { concurrency: "unbounded" })
        yield* Effect.forEach(Array.from({ length: 3 }), () => enqueue(other, 2), { concurrency: "unbounded" })
        const count = ({ runs: started }: TakenWork, of: typeof organisation) =>
          started.filter(({ organisationId }) => organisationId === of).length
        const first = yield* queue.take([shard], 20, new Map([[small, 4]]), null)
        assert.deepStrictEqual([count(first, small), count(first, other), first.passedOver], [6, 3, [small, other]])
        assert.strictEqual(first.firstWaiting, 1)
        const full = yield* queue.take([shard], 20, new Map([[small, 10]]), null)
        assert.deepStrictEqual(full, { runs: [], events: [], passedOver: [], firstWaiting: null })
        const later = yield* queue.take([shard], 20, new Map([[small, 9]]), null)
        assert.deepStrictEqual([later.runs.length, later.passedOver], [1, [small]])
      })
    )

    it.effect("a flood of one organisation delays only that organisation", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const queue = yield* StartQueue
        const shard = 78
        const enqueue = (organisationId: typeof organisation) =>
          journal.append(
            openingChange(
              openRun({ shard, organisationId, status: "pending", startedAt: null, wakeAt: null, priority: 2 }),
              {
                enqueue: { notBefore: Date.now() }
              }
            )
          )
        const other = "org_01jd0000000000000000000001" as typeof organisation
        yield* Effect.forEach(Array.from({ length: 200 }), () => enqueue(organisation), { concurrency: "unbounded" })
        yield* queue.take([shard], 20, none, null)
        yield* enqueue(other)
        const next = (yield* queue.take([shard], 3, none, null)).runs
        assert.include(
          next.map((run) => run.organisationId),
          other
        )
      })
    )
  })
})
