/** A node on which callers wait for changes is told what the other nodes commit. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Schedule } from "effect"
import { openNode, untilHeard } from "../support/commitNode.js"
import { databaseUrl, freshDatabase } from "../support/Database.js"
import { eventually } from "../support/eventually.js"

describe("a node on which callers wait", () => {
  it.scopedLive("hears of the others' commits from when it asks, also of those of a node that comes", () =>
    Effect.gen(function* () {
      const { name, urls } = yield* freshDatabase
      const url = databaseUrl(urls.owner, name)
      const waits = yield* openNode(url, "waits")
      const works = yield* openNode(url, "works")
      works.tellCommits(new Set(["org_before"]))
      waits.awaitCommits()
      yield* untilHeard(works, waits.heard, "org_a")
      // More than fit a notice.
      const many = Array.from({ length: 500 }, (_, n) => `org_${String(n).padStart(26, "0")}`)
      works.tellCommits(new Set(many))
      waits.tellCommits(new Set(["org_own"]))
      yield* Effect.promise(() =>
        eventually(
          async () => many.filter((id) => !waits.heard.has(id)),
          (missing) => missing.length === 0
        )
      )
      // As while somebody waits: it asked a moment ago, and would not ask again so soon.
      const asking = yield* Effect.fork(
        Effect.repeat(
          Effect.sync(() => waits.awaitCommits()),
          Schedule.spaced("50 millis")
        )
      )
      const later = yield* openNode(url, "later")
      yield* later.comes
      yield* untilHeard(later, waits.heard, "org_b")
      yield* Fiber.interrupt(asking)
      assert.isFalse(waits.heard.has("org_before"))
      assert.isFalse(waits.heard.has("org_own"))
    })
  )
})
