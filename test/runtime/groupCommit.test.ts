import { assert, describe } from "@effect/vitest"
import { Effect, Either, Fiber, Layer } from "effect"
import { Socket } from "node:net"
import { Journal } from "../../src/actors/ports/run/Journal.js"
import { OpenSockets } from "../../src/runtime/postgres/database/pool/OpenSockets.js"
import * as JournalOnPostgres from "../../src/runtime/postgres/journal/Journal.js"
import { adminConnection, TestDatabase } from "../support/Database.js"
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

/** The first connection of the journal opens; no other one ever does. */
const oneConnection = Layer.sync(OpenSockets, () => {
  let opened = 0
  return {
    open: () => {
      const socket = new Socket()
      if ((opened += 1) > 1) socket.connect = () => socket
      return socket
    },
    endAll: () => undefined,
    watchReads: () => () => undefined
  }
})

const narrow = Layer.unwrapEffect(
  Effect.map(TestDatabase, ({ urls }) =>
    Layer.provide(JournalOnPostgres.layer({ capacity: 100, writer: urls.writer }), oneConnection)
  )
).pipe(Layer.provideMerge(layer))

describe("The connections of the journal", () => {
  withLayer(narrow, { excludeTestServices: true })((it) => {
    it.scoped("are open before a change comes, and no change waits for a further one", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const sql = yield* WriterSql
        const sessions = Effect.map(
          sql<{ n: number }>`SELECT count(*)::int AS n FROM pg_stat_activity
            WHERE datname = current_database() AND application_name LIKE 'svc journal%'`,
          ([row]) => row?.n ?? 0
        )
        // That of the layer's own journal, and that of this one.
        yield* Effect.repeat(Effect.delay(sessions, "10 millis"), { until: (n) => n === 2 })
        const blocker = yield* adminConnection
        const query = (text: string) => Effect.promise(() => blocker.query(text))
        yield* query("BEGIN")
        yield* query("LOCK TABLE runs IN EXCLUSIVE MODE")
        const append = Effect.suspend(() => Effect.fork(journal.append(openingChange(openRun()))))
        const first = yield* append
        // Long enough for a second flush to begin beside the first.
        yield* Effect.sleep("50 millis")
        const second = yield* append
        yield* Effect.sleep("50 millis")
        yield* query("COMMIT")
        // A further connection never opens.
        yield* Fiber.joinAll([first, second])
      })
    )
  })
})
