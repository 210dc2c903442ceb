import { assert, describe } from "@effect/vitest"
import { Effect, Either } from "effect"
import { Journal } from "../../src/actors/ports/run/Journal.js"
import { layer, openingChange, openRun, organisation } from "../support/journal.js"
import { layer as withLayer } from "../support/layer.js"
import { WriterSql } from "../support/Sql.js"

describe("Changes that commit together", () => {
  withLayer(layer, { excludeTestServices: true })((it) => {
    it.effect("changes that come in turns of the loop, one after the other, commit together", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const sql = yield* WriterSql
        const commitsOf = (ids: ReadonlyArray<string>) =>
          Effect.map(
            sql<{ commits: number }>`SELECT count(DISTINCT xmin::text)::int AS commits FROM runs
            WHERE ${sql.in("id", ids)}`,
            ([row]) => row?.commits
          )
        // The connection is open, and the statement is prepared.
        yield* journal.append(openingChange(openRun()))
        const runs = Array.from({ length: 30 }, () => openRun())
        yield* Effect.forEach(
          runs,
          (run, turn) =>
            Effect.async<void>((resume) => {
              const wait = (turns: number): void =>
                void setImmediate(() => (turns === 0 ? resume(Effect.void) : wait(turns - 1)))
              wait(turn)
            }).pipe(Effect.zipRight(journal.append(openingChange(run)))),
          { concurrency: "unbounded" }
        )
        assert.isAtMost((yield* commitsOf(runs.map(({ id }) => id))) ?? runs.length, 6)
      })
    )

    it.effect("one bad change in a flush fails alone", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const runs = Array.from({ length: 60 }, (_, i) => openRun(i === 31 ? { priority: 99_999 as 1 } : {}))
        const results = yield* Effect.forEach(runs, (run) => Effect.either(journal.append(openingChange(run))), {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual(
          results.flatMap((result, i) => (Either.isLeft(result) ? [[i, result.left._tag]] : [])),
          [[31, "ChangeRefused"]]
        )
        for (const [i, run] of runs.entries()) {
          assert.lengthOf(
            (yield* journal.index(organisation, run.id)).start === undefined ? [] : [run],
            i === 31 ? 0 : 1
          )
        }
      })
    )
  })
})
