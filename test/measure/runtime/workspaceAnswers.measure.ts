/** An answer of svc.db above the cap takes no more memory, and the largest one holds the main loop only briefly. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type DbCaller, DbRefused } from "../../../src/actors/ports/run/WorkspaceDb.js"
import { largestAnswers, tooLargeAnswers } from "../../support/databaseAnswers.js"
import { assertBytes } from "../../support/figures.js"
import { assertLoopWithin } from "../../support/loopDelay.js"
import { newCaller, type RunningWorkspaces, startWorkspaces } from "../../support/workspaces.js"

describe("An answer", () => {
  let world: RunningWorkspaces
  let caller: DbCaller
  beforeAll(async () => {
    world = await startWorkspaces()
    caller = newCaller()
    await world.query(caller, "SELECT 1")
  })
  afterAll(() => world.stop())

  const isRefused = async (sql: string) => (await world.query(caller, sql)) instanceof DbRefused

  it("above the cap takes no more memory", async () => {
    const before = process.memoryUsage().rss
    for (const sql of tooLargeAnswers) assert.isTrue(await isRefused(sql), sql.slice(0, 60))
    assertBytes(process.memoryUsage().rss - before, 200e6)
  })

  it("of the largest allowed size does not block the process", async () => {
    for (const sql of largestAnswers)
      await assertLoopWithin(250, async () => assert.isFalse(await isRefused(sql)), sql.slice(0, 60))
  })
})
