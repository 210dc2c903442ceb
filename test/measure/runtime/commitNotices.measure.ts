/** A node on which callers wait hears soon of the commits of one that comes. */
import { it } from "@effect/vitest"
import { Duration, Effect, Fiber, Schedule } from "effect"
import { openNode, untilHeard } from "../../support/commitNode.js"
import { databaseUrl, freshDatabase } from "../../support/Database.js"
import { assertWithin } from "../../support/pace.js"

it.scopedLive("a node on which callers wait hears soon of the commits of one that comes", () =>
  Effect.gen(function* () {
    const { name, urls } = yield* freshDatabase
    const url = databaseUrl(urls.owner, name)
    const waits = yield* openNode(url, "waits")
    waits.awaitCommits()
    // As while somebody waits: it asked a moment ago, and would not ask again so soon.
    const asking = yield* Effect.fork(
      Effect.repeat(
        Effect.sync(() => waits.awaitCommits()),
        Schedule.spaced("50 millis")
      )
    )
    const later = yield* openNode(url, "later")
    yield* later.comes
    const [took] = yield* Effect.timed(untilHeard(later, waits.heard, "org_b"))
    assertWithin(Duration.toMillis(took), 2_000)
    yield* Fiber.interrupt(asking)
  })
)
