/** What a node looks for among runs is on its own shards, so that nodes do not race for one. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { adminConnection } from "../support/Database.js"
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

    it.scoped("begin only under a seat that their node still has, also where one waits to be taken away", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const client = yield* adminConnection
        const query = (text: string) => Effect.promise(() => client.query(text))
        yield* query(
          "INSERT INTO nodes (id, number, role, build, secrets, process) VALUES ('node_a', 1, 'all', 'b', '{}', 'p')"
        )
        yield* journal.append(openingChange(openRun(), { seat: "node_a" }))
        const lost = yield* Effect.flip(journal.append(openingChange(openRun(), { seat: "node_b" })))
        assert.strictEqual(lost._tag, "Fenced")
        // What is refused takes no key: the next try of its caller begins the run.
        const claim = { scope: "idem", key: "of a lost seat", hash: "a", expiresAt: Date.now() + 60_000 } as const
        yield* Effect.flip(journal.append(openingChange(openRun(), { seat: "node_b", claim })))
        yield* journal.append(openingChange(openRun(), { seat: "node_a", claim }))
        yield* query("BEGIN")
        yield* query("DELETE FROM nodes WHERE id = 'node_a'")
        const late = yield* Effect.fork(Effect.flip(journal.append(openingChange(openRun(), { seat: "node_a" }))))
        const beside = yield* Effect.fork(journal.append(openingChange(openRun())))
        yield* Effect.sleep("100 millis")
        yield* query("COMMIT")
        assert.strictEqual((yield* late)._tag, "Fenced")
        yield* beside
      })
    )
  })
})
