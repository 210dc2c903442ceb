/** Which of the due ticks of a schedule fire. */
import { assert, describe, it } from "@effect/vitest"
import { dueTicks } from "../../src/domain/trigger/DueTicks.js"
import type { ScheduleSettings } from "../../src/domain/trigger/Trigger.js"

const minute = 60_000
const first = Date.parse("2026-11-22T00:00:00Z")
const every = (n: number, catchUp: ScheduleSettings["catchUp"]) => ({
  mode: "interval" as const,
  cron: null,
  every: { n, unit: "minutes" as const },
  timezone: "UTC",
  startsAt: new Date(first).toISOString(),
  anchorAt: new Date(first).toISOString(),
  catchUp
})

describe("due ticks", () => {
  it("fire if they are on time, whatever the catch-up", () => {
    for (const catchUp of ["none", "one", "all"] as const)
      assert.deepStrictEqual(dueTicks(every(10, catchUp), first, first + 30_000), {
        skipped: null,
        firing: [first],
        next: first + 10 * minute
      })
  })

  it("that are on time fire after missed ones, of which none or all but the last are skipped", () => {
    const now = first + 30 * minute + 1_000
    const skipped = { count: 3, from: first, to: first + 20 * minute }
    for (const catchUp of ["none", "one"] as const)
      assert.deepStrictEqual(dueTicks(every(10, catchUp), first, now), {
        skipped,
        firing: [first + 30 * minute],
        next: first + 40 * minute
      })
  })

  it("fire 1,000 at most with the catch-up all: the last ones", () => {
    const now = first + 100_000 * minute
    const { firing, next, skipped } = dueTicks(every(1, "all"), first, now)
    assert.lengthOf(firing, 1_000)
    assert.deepStrictEqual([firing[0], firing.at(-1), next], [now - 999 * minute, now, now + minute])
    assert.deepStrictEqual(skipped, { count: null, from: first, to: now - 999 * minute - 1 })
  })

  it("that lie densely in a few places are found too", () => {
    const burst = { ...every(1, "all"), mode: "cron" as const, every: null, cron: "* 0-20 1 1 *", startsAt: null }
    const from = Date.parse("2025-01-01T00:00:00Z")
    const { firing } = dueTicks(burst, from, Date.parse("2026-11-22T00:00:00Z"))
    assert.lengthOf(firing, 1_000)
    assert.strictEqual(firing.at(-1), Date.parse("2026-01-01T20:59:00Z"))
  })

  it("fire off the grid: the tick of the creation", () => {
    const created = first + 1_234
    assert.deepStrictEqual(dueTicks({ ...every(10, "one"), startsAt: null }, created, created + 500), {
      skipped: null,
      firing: [created],
      next: first + 10 * minute
    })
  })
})
