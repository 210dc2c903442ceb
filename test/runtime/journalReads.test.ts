/** Journals are read as an index and pages of results; rows of earlier releases are understood. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { Journal, type OpenRun } from "../../src/actors/ports/run/Journal.js"
import { Vault } from "../../src/actors/ports/Vault.js"
import { buildHistory, type CallResult, type RecordedResult, transientCalls } from "../../src/domain/run/RunJournal.js"
import { WriterSql } from "../../src/runtime/postgres/database/Pools.js"
import { change, doneEntry, layer, openingChange, openRun, organisation } from "../support/journal.js"
import { layer as withLayer } from "../support/layer.js"

const textOf = ({ json }: RecordedResult) => (typeof json === "string" ? json : Buffer.from(json).toString())

/** Writes the row of an ended call as earlier releases did. */
const writeEarlier = (run: OpenRun, seq: number, result: CallResult, secret?: object) =>
  Effect.gen(function* () {
    const sealer = yield* (yield* Vault).of(organisation)
    const sql = yield* WriterSql
    const [call, hash] = [seq - 1, `h${seq - 1}`]
    const entry = {
      kind: "done",
      call,
      hash,
      at: 1_795_000_000_000 + seq,
      result,
      ...(secret === undefined ? {} : { secret })
    }
    const place = { table: "journal", column: "body", row: `${run.id}/${seq}` }
    const body = Buffer.from(sealer.seal(place, JSON.stringify(entry)))
    yield* sql`INSERT INTO journal (id, seq, epoch, kind, call, hash, body)
      VALUES (${run.id}, ${seq}, 1, 1, ${call}, ${hash}, ${body})`
  })

describe("A journal", () => {
  withLayer(layer, { excludeTestServices: true })((it) => {
    it.effect("has an index without the results of a large one, which are read by their places", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const run = openRun()
        yield* journal.append(openingChange(run))
        const large = JSON.stringify("ü".repeat(100_000))
        for (let seq = 1; seq <= 5; seq++) {
          const { entry } = doneEntry(seq)
          yield* journal.append(change(run, { journal: [{ seq, entry: { ...entry, json: large } }] }))
        }
        const { bytes, rest } = yield* journal.index(organisation, run.id)
        assert.isAbove(bytes, 1_000_000)
        assert.deepStrictEqual(
          rest.map((entry) => entry.kind === "done" && entry.result === undefined),
          [false, true, true, true, true]
        )
        const results = yield* journal.results(organisation, run.id, [4, 2])
        assert.deepStrictEqual(results.map(textOf), [large, large])
      })
    )

    it.effect("tells how each call ended without its result", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const run = openRun()
        yield* journal.append(openingChange(run))
        const ends = ["ok", "failed", "transient"] as const
        for (const [i, outcome] of ends.entries()) {
          const { entry } = doneEntry(i + 1)
          const json = JSON.stringify("x".repeat(300_000))
          yield* journal.append(change(run, { journal: [{ seq: i + 1, entry: { ...entry, outcome, json } }] }))
        }
        const { rest, start } = yield* journal.index(organisation, run.id)
        assert.isDefined(start)
        if (start === undefined) return
        const { replay } = buildHistory(start, rest)
        assert.deepStrictEqual(
          replay.map(({ outcome }) => outcome),
          [...ends]
        )
        assert.deepStrictEqual(transientCalls(replay), [2])
      })
    )

    it.effect("of an earlier release is read: small and large results, failures, secrets", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const run = openRun()
        yield* journal.append(openingChange(run))
        const large = { body: '"}}\\' + "y".repeat(400_000), secret: { secretId: "none" } }
        const data = { status: 503, body: "z".repeat(100_000) }
        const failure = { name: "E", message: "m", category: "transient" as const, data }
        yield* writeEarlier(run, 1, { ok: true, value: { a: 1 } })
        yield* writeEarlier(run, 2, { ok: true, value: large })
        yield* writeEarlier(run, 3, { ok: false, failure })
        yield* writeEarlier(run, 4, { ok: true, value: null }, { secretId: "sec_1", number: 3 })
        const { rest } = yield* journal.index(organisation, run.id)
        assert.deepStrictEqual(
          rest.map((entry) => entry.kind === "done" && entry.outcome),
          ["ok", "ok", "transient", "ok"]
        )
        const results = yield* journal.results(organisation, run.id, [1, 2, 3, 4])
        assert.deepStrictEqual(
          results.map((result) => JSON.parse(textOf(result))),
          [{ a: 1 }, large, { name: "E", message: "m", data: { ...data, category: "transient", step: "2" } }, null]
        )
        assert.deepStrictEqual(
          results.map(({ at, ok, secret }) => [at - 1_795_000_000_000, ok, secret?.number]),
          [
            [1, true, undefined],
            [2, true, undefined],
            [3, false, undefined],
            [4, true, 3]
          ]
        )
      })
    )

    it.effect("is copied for a run that resumes it, and sealed to its new place", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const [parent, child] = [openRun(), openRun()]
        yield* journal.append(openingChange(parent))
        const json = JSON.stringify("w".repeat(700_000))
        for (let seq = 1; seq <= 4; seq++) {
          const { entry } = doneEntry(seq)
          yield* journal.append(change(parent, { journal: [{ seq, entry: { ...entry, json } }] }))
        }
        yield* journal.copy(organisation, parent.id, child.id, 3)
        yield* journal.copy(organisation, parent.id, child.id, 3)
        yield* journal.append(openingChange(child))
        const { rest } = yield* journal.index(organisation, child.id)
        assert.lengthOf(rest, 3)
        const results = yield* journal.results(organisation, child.id, [1, 2, 3])
        assert.deepStrictEqual(results.map(textOf), [json, json, json])
      })
    )
  })
})
