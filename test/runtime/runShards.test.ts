/** What a node looks for among runs is on its own shards, so that nodes do not race for one. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { Journal } from "../../src/actors/ports/run/Journal.js"
import { Runs } from "../../src/actors/ports/run/Runs.js"
import { layer, openingChange, openRun } from "../support/journal.js"
import { layer as withLayer } from "../support/layer.js"

describe("Runs of several shards", () => {
  withLayer(layer, { excludeTestServices: true })((it) => {
    it.effect("are due and overdue for the owner of their shard alone", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const runs = yield* Runs
        const past = Date.now() - 1_000
        const [one, two] = [1, 2].map((shard) => openRun({ shard, deadlineAt: past, wakeAt: past }))
        assert(one !== undefined && two !== undefined)
        for (const run of [one, two]) yield* journal.append(openingChange(run))
        for (const { id, shard } of [one, two]) {
          const overdue = yield* runs.findOverdue([shard], 10)
          assert.deepStrictEqual(
            overdue.map((run) => run.id),
            [id]
          )
          const due = yield* runs.findDue([shard], [], 10, ["test"])
          assert.deepStrictEqual(
            due.map((run) => run.id),
            [id]
          )
          assert.deepInclude(yield* runs.findWork([shard], [], ["test"]), { due: true, overdue: true })
        }
        assert.deepInclude(yield* runs.findWork([3], [], ["test"]), { due: false, overdue: false })
      })
    )
  })
})
