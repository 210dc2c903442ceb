/** The service stays responsive while runs read from svc.db what is too large, too deep or just allowed. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { largeReads } from "../../support/largeReads.js"
import { assertOnceWithin } from "../../support/pace.js"
import { worldOf } from "../../support/World.js"

const world = worldOf({ allow: true })
beforeAll(() => world.start(), 60_000)
afterAll(() => world.stop(), 30_000)

/** The slowest answer of `/healthz`, requested every 20 ms while this runs. */
const slowestHealth = async (body: () => Promise<unknown>): Promise<number> => {
  const { dev } = world.api()
  const times: Array<number> = []
  const ended = new AbortController()
  const poll = async (): Promise<void> => {
    const asked = performance.now()
    await (await fetch(`${dev.baseUrl}/healthz`)).text()
    times.push(performance.now() - asked)
    await new Promise((resolve) => setTimeout(resolve, 20))
    return ended.signal.aborted ? undefined : poll()
  }
  const polling = poll()
  await body()
  ended.abort()
  await polling
  return Math.max(...times)
}

it("stays responsive", async () => {
  const { run, workflow } = world.api()
  const id = await workflow(
    "asks_much",
    "instant",
    `export default async (ctx) => {
      try { return { rows: (await svc.db.query(ctx.input.sql)).length } } catch (e) { return { name: e.name, code: e.code } }
    }`
  )
  const answered = async (sql: string) => (await run(id, { sql })).body
  assert.deepStrictEqual(await answered("SELECT 1"), { rows: 1 })
  for (const [sql, expected] of largeReads)
    // Most of the time goes into the run's journal and trace; a busy machine takes several times as long.
    await assertOnceWithin(750, sql.slice(0, 80), () =>
      slowestHealth(async () => assert.deepStrictEqual(await answered(sql), expected, sql))
    )
})
