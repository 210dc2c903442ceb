/** The start of an Instant run whose owner is not known: it waits for one, and says what became of it. */
import { Sharding } from "@effect/cluster"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Duration, Effect, Fiber, Layer, TestClock } from "effect"
import { makeRemoteStart } from "../../src/actors/execution/RemoteStart.js"
import { Ownership } from "../../src/actors/ports/Ownership.js"
import { NodeStarts, NodeUnreachable } from "../../src/actors/ports/run/NodeStarts.js"
import { openRun } from "../support/journal.js"
import { ownershipOf } from "../support/ownership.js"
import { runnable, startEntry } from "../support/runWorld.js"

/** The failure of a start on a node that knows this owner of every shard, where no node can be reached. */
const failureOf = (owner: string | null) =>
  Effect.gen(function* () {
    const at = DateTime.toEpochMillis(yield* DateTime.now)
    const run = openRun({ tier: "instant", status: "pending", createdAt: at, deadlineAt: at + 30_000 })
    const { start } = yield* makeRemoteStart
    const order = { run, runnable: runnable(), start: startEntry(at), concurrentRuns: null, claim: null, audit: null }
    const wait = yield* Effect.fork(Effect.flip(start(order, 0)))
    yield* TestClock.adjust(Duration.seconds(15))
    const failure = yield* Fiber.join(wait)
    return failure._tag === "Unavailable" ? failure.reason : failure._tag
  }).pipe(
    Effect.provide(
      Layer.mergeAll(
        Layer.succeed(
          Ownership,
          ownershipOf({ isAlone: false, isRunner: false, owns: () => false, ownerOf: () => owner })
        ),
        Layer.succeed(NodeStarts, { begin: () => new NodeUnreachable(), serve: () => Effect.void }),
        // Only clients are made of it.
        Layer.succeed(Sharding.Sharding, {
          makeClient: () => Effect.succeed(() => ({ Ask: () => Effect.never }))
        } as unknown as Sharding.Sharding["Type"])
      )
    )
  )

describe("a start whose owner does not come", () => {
  it.scoped("says that no node runs workflows, if it was sent to none", () =>
    Effect.map(failureOf(null), (reason) => assert.strictEqual(reason, "no node runs workflows at the moment"))
  )

  it.scoped("says that the run may go on, if it was sent", () =>
    Effect.map(failureOf("127.0.0.1:1"), (reason) => assert.strictEqual(reason, "the run goes on on another node"))
  )
})
