/**
 * The writes of a run: in order, committed before the next call, and in the background if another call is predicted.
 */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Either, Fiber } from "effect"
import { Progress } from "../../src/actors/execution/Progress.js"
import { makeRunWriter } from "../../src/actors/execution/RunWriter.js"
import { type AppendFailure, ClaimTaken, Journal, type RunChange } from "../../src/actors/ports/run/Journal.js"
import type { Runnable } from "../../src/actors/ports/run/Runnables.js"
import { defaultRetryPolicy } from "../../src/domain/run/Execution.js"
import { makeIdentifiers } from "../../src/runtime/process/Crypto.js"
import { openRun, organisation, space, workflow } from "../support/journal.js"

const runnable: Runnable = {
  organisationId: organisation,
  spaceId: space,
  workflowId: workflow,
  customerId: null,
  name: "test",
  enabled: true,
  tier: "instant",
  timeoutMillis: null,
  retry: defaultRetryPolicy,
  callbackUrl: null,
  version: 1,
  script: "",
  contentHash: "h",
  inputContract: null,
  outputContract: null,
  bindings: []
}

const progress = () =>
  new Progress(
    {
      run: openRun({ tier: "instant" }),
      runnable,
      start: {
        kind: "start",
        at: 0,
        input: null,
        headers: {},
        customer: null,
        installation: null,
        connections: null,
        script: null
      },
      history: null,
      hasRow: false,
      nextSeq: 1,
      journalBytes: 0
    },
    { offload: { id: () => makeIdentifiers().next("blob"), sha256: String }, hash: String }
  )

/** A journal whose commits the test completes one by one. */
const slowJournal = () => {
  const appended: Array<RunChange> = []
  const commits: Array<Deferred.Deferred<void, AppendFailure>> = []
  const journal = Journal.of({
    append: (change) =>
      Effect.flatMap(Deferred.make<void, AppendFailure>(), (commit) => {
        appended.push(change)
        commits.push(commit)
        return Deferred.await(commit)
      }),
    index: () => Effect.dieMessage("no test asks for it"),
    results: () => Effect.dieMessage("no test asks for it"),
    copy: () => Effect.dieMessage("no test asks for it")
  })
  return { journal, appended, commit: (nth: number) => Deferred.succeed(commits[nth]!, undefined), commits }
}

const faults = { at: () => Effect.void }
const settled = Effect.yieldNow().pipe(Effect.repeatN(20))

/** The prediction after a run of the program with one request. */
const learned = Effect.gen(function* () {
  const slow = slowJournal()
  const writer = makeRunWriter(slow.journal, faults)
  const before = progress()
  before.outsideCalls = 1
  const ending = yield* Effect.fork(writer.writeEnd(before, {}))
  yield* settled
  yield* slow.commit(0)
  yield* Fiber.join(ending)
  slow.appended.length = 0
  slow.commits.length = 0
  return { ...slow, writer }
})

describe("a change of a run", () => {
  it.effect("is committed only when it must be, if no run of the program has ended yet", () =>
    Effect.gen(function* () {
      const { appended, journal } = slowJournal()
      yield* makeRunWriter(journal, faults).flushAhead(progress())
      yield* settled
      assert.lengthOf(appended, 0)
    })
  )

  it.effect(
    "is committed in the background while the guest computes, if the last run made another call; the next call waits for the commit",
    () =>
      Effect.gen(function* () {
        const { appended, commit, writer } = yield* learned
        const run = progress()
        yield* writer.flushAhead(run)
        yield* settled
        assert.deepStrictEqual(
          appended.map(({ open }) => open?.id),
          [run.run.id]
        )
        const flushed = yield* Effect.fork(writer.flush(run))
        yield* settled
        assert.strictEqual((yield* Fiber.poll(flushed))._tag, "None")
        yield* commit(0)
        yield* Fiber.join(flushed)
        assert.lengthOf(appended, 1, "and nothing is written twice")
      })
  )

  it.effect("is not committed early once the run has made as many calls as the last one", () =>
    Effect.gen(function* () {
      const { appended, writer } = yield* learned
      const run = progress()
      run.outsideCalls = 1
      yield* writer.flushAhead(run)
      yield* settled
      assert.lengthOf(appended, 0)
    })
  )

  it.effect("commits in order: the end waits for the commit in the background", () =>
    Effect.gen(function* () {
      const { appended, commit, writer } = yield* learned
      const run = progress()
      yield* writer.flushAhead(run)
      run.record({ kind: "timer", call: 0, hash: "h", due: 1 })
      const ended = yield* Effect.fork(writer.writeEnd(run, {}))
      yield* settled
      assert.lengthOf(appended, 1)
      yield* commit(0)
      yield* settled
      assert.deepStrictEqual(
        appended.map(({ journal }) => journal?.map(({ entry }) => entry.kind)),
        [["start"], ["timer"]]
      )
      yield* commit(1)
      yield* Fiber.join(ended)
    })
  )

  it.effect("that is refused in the background stops the run at its next call", () =>
    Effect.gen(function* () {
      const { commits, writer } = yield* learned
      const run = progress()
      yield* writer.flushAhead(run)
      yield* settled
      yield* Deferred.fail(commits[0]!, new ClaimTaken({ target: "exec_other", hash: null }))
      const flushed = yield* Effect.either(writer.flush(run))
      assert.strictEqual(Either.isLeft(flushed) ? flushed.left._tag : null, "ClaimTaken")
    })
  )

  it.effect("whose commit was interrupted is detected by the next write", () =>
    Effect.gen(function* () {
      const { appended, commit, writer } = yield* learned
      const run = progress()
      yield* writer.flushAhead(run)
      yield* settled
      yield* Fiber.interrupt(run.backgroundCommit!)
      const ended = yield* Effect.fork(writer.writeEnd(run, {}))
      yield* settled
      assert.lengthOf(appended, 2)
      yield* commit(1)
      yield* Fiber.join(ended)
    })
  )
})
