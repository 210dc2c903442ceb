/** The ticks of a long time are decided in a short one. */
import { describe, it } from "@effect/vitest"
import { dueTicks } from "../../../src/domain/trigger/DueTicks.js"
import type { ScheduleSettings } from "../../../src/domain/trigger/Trigger.js"
import { assertWithin } from "../../support/pace.js"

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
  it("of a year of minutes are decided without delaying others", () => {
    const started = performance.now()
    dueTicks(every(1, "none"), first, first + 525_600 * minute)
    dueTicks(
      { ...every(1, "one"), mode: "cron", every: null, cron: "* * * * *", timezone: "Europe/Berlin" },
      first,
      first + 525_600 * minute
    )
    assertWithin(performance.now() - started, 600)
  })
})
