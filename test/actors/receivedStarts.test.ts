/** Starts that other nodes hand over: each order has its own answer, also beside one that cannot be read. */
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Layer, Schema } from "effect"
import * as ReceivedStarts from "../../src/actors/execution/ReceivedStarts.js"
import { NodeStarts, type StartAnswer, StartOrder, StartOutcome } from "../../src/actors/ports/run/NodeStarts.js"
import { announce } from "../support/LogExpectations.js"
import { openRun } from "../support/journal.js"
import { makeRunWorld, passUntil, startEntry } from "../support/runWorld.js"

describe("a message of orders", () => {
  it.scoped("has an answer to each, and a failure in the log for one that cannot be read", () => {
    const world = makeRunWorld({
      // oxlint-disable-next-line require-yield
      guests: {
        main: function* () {
          return "done"
        }
      }
    })
    announce(/"execution\.start_failed"/, { required: true })
    return Effect.gen(function* () {
      const at = DateTime.toEpochMillis(yield* DateTime.now)
      const run = openRun({ tier: "instant", status: "pending", createdAt: at, deadlineAt: at + 30_000 })
      const order = Schema.encodeSync(StartOrder)({
        run,
        start: startEntry(at),
        concurrentRuns: null,
        claim: null,
        audit: null,
        workflowId: run.workflowId,
        version: 1,
        contentHash: "h",
        repetition: 0
      })
      const answers: Array<StartAnswer> = []
      const starts = yield* NodeStarts
      yield* Effect.fork(starts.begin("", ["{", order, "{}"], (answer) => void answers.push(answer)))
      yield* passUntil(() => answers.length === 3)
      const outcomes = answers
        .toSorted((a, b) => a.at - b.at)
        .map(({ outcome }) => Schema.decodeSync(StartOutcome)(outcome))
      assert.deepStrictEqual(
        outcomes.map(({ _tag }) => _tag),
        ["Refused", "Ended", "Refused"]
      )
    }).pipe(Effect.provide(ReceivedStarts.layer({ slots: 10 }).pipe(Layer.provideMerge(world.layer))))
  })
})
