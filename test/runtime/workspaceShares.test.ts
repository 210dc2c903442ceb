/**
 * No organisation blocks another one's svc.db: connections, transactions, waiting statements and memory have shares.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { type DbCaller, DbRefused } from "../../src/actors/ports/run/WorkspaceDb.js"
import { workspaceDb } from "../../src/domain/Limits.js"
import { makeTurns, type ReleaseTurn } from "../../src/runtime/workspace/Turns.js"
import { eventually } from "../support/eventually.js"
import { newCaller, type RunningWorkspaces, startWorkspaces } from "../support/workspaces.js"
import { ownerOf } from "../support/shareOwners.js"

describe("An organisation", () => {
  let world: RunningWorkspaces
  beforeAll(async () => {
    world = await startWorkspaces()
  })
  afterAll(() => world.stop())

  const begin = async (caller: DbCaller) => {
    const begun = await world.outcome(world.db.begin(caller))
    if (begun instanceof DbRefused) throw begun
    return begun
  }

  /** Sessions of the workspace that wait for a lock in Postgres. */
  const locked = (caller: DbCaller): Promise<number> =>
    world.asAdmin(world.databaseOf(caller), async (client) => {
      const found = await client.query(
        `SELECT FROM pg_stat_activity
         WHERE backend_type = 'client backend' AND datname = current_database() AND wait_event_type = 'Lock'`
      )
      return found.rows.length
    })

  it("whose statements hang leaves connections for others, and is refused beyond its queue", async () => {
    const busy = newCaller()
    await world.query(busy, "CREATE TABLE one (n int)")
    await world.query(busy, "INSERT INTO one VALUES (0)")
    const transaction = await begin(busy)
    await world.query(busy, "UPDATE one SET n = 1", [], transaction)
    // All wait for the transaction: those with a connection in Postgres, the others in the queue.
    const connected = workspaceDb.connectionsPerAccount - 1
    const room = connected + workspaceDb.waitingPerOrganisation
    const hang = (length: number) => Array.from({ length }, () => world.query(busy, "UPDATE one SET n = n + 1"))
    const hanging = hang(connected)
    await eventually(
      () => locked(busy),
      (sessions) => sessions === connected
    )
    hanging.push(...hang(workspaceDb.waitingPerOrganisation))
    const beyond = await world.query(newCaller(busy), "SELECT 1")
    assert.isTrue(beyond instanceof DbRefused && beyond.code === "53300" && beyond.transient)
    // Those that hang wait until the transaction ends, below.
    for (let i = 0; i < 5; i++) {
      const answer = await world.query(newCaller(), "SELECT 1 AS one")
      assert.deepStrictEqual(answer instanceof DbRefused ? answer : answer.rows, [{ one: 1 }])
    }
    await world.run(world.db.rollback(busy, transaction))
    assert.deepStrictEqual(
      (await Promise.all(hanging)).filter((answer) => answer instanceof DbRefused),
      []
    )
    const counted = await world.query(busy, "SELECT n FROM one")
    assert.deepStrictEqual(counted instanceof DbRefused ? counted : counted.rows, [{ n: room }])
  })

  it("has a limited share of transactions, so that two organisations never have all of them", async () => {
    const greedy = [newCaller(), newCaller()]
    const open = await Promise.all(
      greedy.flatMap((caller) =>
        Array.from({ length: workspaceDb.transactionsPerAccount }, async () => [caller, await begin(caller)] as const)
      )
    )
    const waiting = greedy.map((caller) => Effect.runFork(world.db.begin(caller)))
    const third = newCaller()
    const theirs = await begin(third)
    // An organisation with open transactions can still run other statements.
    const [first] = greedy
    if (first === undefined) throw new Error("nobody")
    assert.notInstanceOf(await world.query(first, "SELECT 1"), DbRefused)
    await world.run(world.db.rollback(third, theirs))
    for (const [caller, transaction] of open) await world.run(world.db.rollback(caller, transaction))
    for (const [index, fiber] of waiting.entries()) {
      const begun = await Effect.runPromise(Fiber.join(fiber))
      const caller = greedy[index]
      if (caller !== undefined) await world.run(world.db.rollback(caller, begun))
    }
  })

  it("gets back its connection and the server's process when its run ends during a statement", async () => {
    const caller = newCaller()
    await world.query(caller, "SELECT 1")
    const fiber = Effect.runFork(world.started(caller, "SELECT count(*) FROM generate_series(1, 2000000000)"))
    const active = () =>
      world.asAdmin("postgres", async (client) => {
        const { rowCount } = await client.query(
          "SELECT FROM pg_stat_activity WHERE backend_type = 'client backend' AND datname = $1 AND state = 'active'",
          [world.databaseOf(caller)]
        )
        return rowCount ?? 0
      })
    await eventually(active, (count) => count === 1)
    await Effect.runPromise(Fiber.interrupt(fiber))
    await eventually(active, (count) => count === 0)
    assert.notInstanceOf(await world.query(caller, "SELECT 1"), DbRefused)
  })

  it.skipIf(process.platform !== "linux")("is stopped if one expression takes unbounded memory", async () => {
    const caller = newCaller()
    for (const sql of [
      "SELECT length(a) + length(b) FROM (SELECT repeat('a', 1000000000) a, repeat('b', 1000000000) b OFFSET 0) x",
      "WITH RECURSIVE t AS (SELECT 'x' AS v UNION ALL SELECT v || v FROM t WHERE length(v) < 500000000) SELECT max(length(v)) FROM t",
      "SELECT length(string_agg(repeat('x', 1000000), '')) FROM generate_series(1, 900)"
    ]) {
      const answer = await world.query(caller, sql)
      assert.isTrue(answer instanceof DbRefused && answer.code === "53200" && !answer.transient, JSON.stringify(answer))
    }
    assert.notInstanceOf(await world.query(caller, "SELECT 1"), DbRefused)
  })

  it("with a hundred workspaces has no more open connections than the node allows", async () => {
    const callers = Array.from({ length: 40 }, () => newCaller())
    for (const caller of callers) assert.notInstanceOf(await world.query(caller, "SELECT 1"), DbRefused)
    // A closed connection's server process ends a moment later.
    await eventually(
      () =>
        world.asAdmin("postgres", async (client) => {
          const { rowCount } = await client.query(
            "SELECT FROM pg_stat_activity WHERE backend_type = 'client backend' AND starts_with(datname, $1)",
            [`${world.base}_w_`]
          )
          return rowCount ?? 0
        }),
      (open) => open <= workspaceDb.openPerNode
    )
  })
})

describe("Turns", () => {
  const limits = {
    connections: 8,
    connectionsPerAccount: 4,
    transactions: 4,
    transactionsPerAccount: 2,
    waitingPerOrganisation: 4,
    waitMillis: 10_000
  }
  const acquire = async (turns: ReturnType<typeof makeTurns>, organisation: string) =>
    Effect.runPromise(turns.acquire(ownerOf(organisation), "statement"))

  it("go round-robin to the organisations that wait, whatever their number of requests", async () => {
    const turns = makeTurns({ ...limits, connections: 1 })
    const release = await acquire(turns, "holder")
    const order: Array<string> = []
    const ask = (organisation: string) =>
      acquire(turns, organisation).then((mine: ReleaseTurn) => {
        order.push(organisation)
        mine()
      })
    const all = ["a", "a", "a", "b", "b", "c"].map(ask)
    release()
    await Promise.all(all)
    assert.deepStrictEqual(order, ["a", "b", "c", "a", "b", "a"])
    assert.deepStrictEqual(turns.usage(), { inUse: 0, transactions: 0, waiting: 0 })
  })

  it("leave more places for others the more an organisation has", async () => {
    const turns = makeTurns(limits)
    const held: Array<string> = []
    for (const organisation of ["a", "b", "c", "d"])
      for (let i = 0; i < 4; i++)
        Effect.runFork(
          turns.acquire(ownerOf(organisation), "statement").pipe(Effect.tap(() => void held.push(organisation)))
        )
    await eventually(
      async () => turns.usage().inUse,
      (inUse) => inUse >= 7
    )
    assert.deepStrictEqual([...new Set(held)], ["a", "b", "c", "d"])
    assert.isAtMost(held.length, limits.connections)
  })

  it("are returned by requests that stop waiting, and time out for those that wait too long", async () => {
    const turns = makeTurns({ ...limits, connections: 1, waitMillis: 20 })
    const release = await acquire(turns, "a")
    const waiting = Effect.runFork(turns.acquire(ownerOf("b"), "statement"))
    await Effect.runPromise(Fiber.interrupt(waiting))
    assert.strictEqual(
      await Effect.runPromise(Effect.flip(turns.acquire(ownerOf("c"), "statement"))),
      "waited too long"
    )
    release()
    release()
    assert.deepStrictEqual(turns.usage(), { inUse: 0, transactions: 0, waiting: 0 })
  })
})
