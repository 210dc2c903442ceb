/** A workspace's database is created once, at its first use, and dropped when it is empty and unused. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Exit, Redacted, Scope } from "effect"
import { Client } from "pg"
import { DbRefused } from "../../src/actors/ports/run/WorkspaceDb.js"
import { databaseNamesOf } from "../../src/runtime/workspace/DatabaseNames.js"
import { openWorkspaceDatabases } from "../../src/runtime/workspace/WorkspaceDatabases.js"
import { patientConnect } from "../support/connectTimeout.js"
import { databaseUrl, freshDatabase, dropWorkspaces, type Database } from "../support/Database.js"
import { newCaller, startWorkspaces, testPepper, type RunningWorkspaces } from "../support/workspaces.js"

describe("The database of a workspace", () => {
  const scope = Effect.runSync(Scope.make())
  let database: Database
  let admin: Redacted.Redacted
  beforeAll(async () => {
    database = await Effect.runPromise(Scope.extend(freshDatabase, scope))
    admin = Redacted.make(databaseUrl(database.admin, `${database.name}_ws`))
  })
  afterAll(async () => {
    await Effect.runPromise(dropWorkspaces(`${database.name}_ws`))
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })
  const opened = () => openWorkspaceDatabases({ admin, pepper: testPepper, connectTimeout: patientConnect })
  const use = async (workspaces: Awaited<ReturnType<typeof opened>>, spaceId: string, sql: string) => {
    const client = new Client(await workspaces.reach(spaceId))
    await client.connect()
    try {
      return (await client.query(sql)).rows
    } finally {
      await client.end()
    }
  }

  it("is set up while another transaction has read the tables that all databases share: no login waits", async () => {
    const reader = new Client({ connectionString: Redacted.value(database.admin) })
    await reader.connect()
    // With it the setup would only go on once the server has ended the reader.
    await reader.query("SET idle_in_transaction_session_timeout = '15s'")
    await reader.query("BEGIN")
    for (const table of ["pg_authid", "pg_database", "pg_shdepend"]) await reader.query(`SELECT FROM ${table}`)
    const workspaces = await opened()
    await use(workspaces, "spc_1", "SELECT 1")
    await reader.query("COMMIT")
    await reader.end()
    await workspaces.close()
  })

  it("is created once by two processes that start at once", async () => {
    const [one, other] = await Promise.all([opened(), opened()])
    await Promise.all([use(one, "spc_1", "SELECT 1"), use(other, "spc_1", "SELECT 1"), use(other, "spc_2", "SELECT 1")])
    assert.strictEqual((await one.sizes(["spc_1", "spc_2", "spc_3"])).size, 2)
    await Promise.all([one.close(), other.close()])
  })

  it("is dropped with its login when it is empty and unused, and is created again when needed", async () => {
    const workspaces = await opened()
    await use(workspaces, "spc_empty", "SELECT 1")
    await use(workspaces, "spc_used", "SELECT 1")
    await use(workspaces, "spc_kept", "CREATE TABLE kept (id int)")
    const used = workspaces.databaseOf("spc_used")
    // The databases of the previous test are dropped too.
    assert.strictEqual(await workspaces.dropEmpty((name) => name === used), 3)
    const left = await workspaces.sizes(["spc_empty", "spc_used", "spc_kept"])
    assert.deepStrictEqual([...left.keys()].toSorted(), ["spc_kept", "spc_used"])
    workspaces.forget("spc_empty")
    assert.deepStrictEqual(await use(workspaces, "spc_empty", "SELECT current_schema() LIKE 'ws_%' AS own"), [
      { own: true }
    ])
    assert.deepStrictEqual(await use(workspaces, "spc_kept", "SELECT * FROM kept"), [])
    await workspaces.close()
  })

  it("is not used if its login may connect to another one, and the refusal names that one", async () => {
    const client = new Client({ connectionString: Redacted.value(database.admin) })
    await client.connect()
    const canary = databaseNamesOf(`${database.name}_ws`, testPepper).of("canary")
    await client.query(`GRANT CONNECT ON DATABASE ${database.name} TO ${canary}`)
    const refusal = await opened().then(
      () => "opened",
      (error: Error) => error.message
    )
    await client.query(`REVOKE CONNECT ON DATABASE ${database.name} FROM ${canary}`)
    await client.end()
    assert.include(refusal, `REVOKE CONNECT ON DATABASE ${database.name} FROM PUBLIC`)
  })
})

describe("A statement", () => {
  let world: RunningWorkspaces
  beforeAll(async () => {
    world = await startWorkspaces()
  })
  afterAll(() => world.stop())

  it("succeeds after another process dropped its database, which is created again", async () => {
    const caller = newCaller()
    assert.notInstanceOf(await world.query(caller, "SELECT 1"), DbRefused)
    await world.asAdmin("postgres", async (client) => {
      await client.query(`DROP DATABASE ${world.databaseOf(caller)} WITH (FORCE)`)
      await client.query(`DROP ROLE ${world.databaseOf(caller)}`)
    })
    const answers = []
    for (let i = 0; i < 3; i++) answers.push(await world.query(caller, "SELECT 1 AS one"))
    const last = answers.at(-1)
    assert.deepStrictEqual(last instanceof DbRefused ? last : last?.rows, [{ one: 1 }])
  })
})
