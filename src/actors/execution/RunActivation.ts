/** Brings a run of this node to life from its journal, and ends one that cannot be driven. */
import { Clock, Effect, identity, Option, Schedule } from "effect"
import { decide, isEnd, type RunError, type RunEvent, type RunRefused } from "../../domain/run/Execution.js"
import type { ExecutionId } from "../../domain/Ids.js"
import { guest, poisonAfter, suspectAfter } from "../../domain/Limits.js"
import { buildHistory, type StartEntry } from "../../domain/run/RunJournal.js"
import { Faults } from "../ports/Faults.js"
import { Ownership } from "../ports/Ownership.js"
import { accountOfRun, Journal, type OpenRun } from "../ports/run/Journal.js"
import { type Runnable, Runnables } from "../ports/run/Runnables.js"
import { ReleaseStage } from "../ports/run/ReleaseStage.js"
import { Runs } from "../ports/run/Runs.js"
import { Sandbox } from "../ports/run/Sandbox.js"
import { Wakeups } from "../ports/run/Wakeups.js"
import { make as makeEndMessages } from "./EndMessages.js"
import { LiveRuns } from "./LiveRuns.js"
import { poisonedCode } from "./RunErrors.js"
import { finishedRun } from "./RunResult.js"
import { runError } from "./RunSpec.js"

/** Reads are repeated for ten seconds: an activation that fails counts like a death of the process that had the run. */
const whileAway = Schedule.spaced("200 millis").pipe(Schedule.intersect(Schedule.recurs(50)))

/** Makes the functions that activate and end runs. */
export const make = Effect.gen(function* () {
  const journal = yield* Journal
  const runs = yield* Runs
  const live = yield* LiveRuns
  const runnables = yield* Runnables
  const wakeups = yield* Wakeups
  const ownership = yield* Ownership
  const { messagesOf } = yield* makeEndMessages
  const faults = yield* Faults
  const { engine, engines } = yield* Sandbox
  const stage = yield* ReleaseStage

  /** Commits the end of a run that this node does not drive. Does nothing if `event` ends no run. */
  const commitEnd = Effect.fnUntraced(function* (run: OpenRun, event: RunEvent | RunRefused, error: RunError) {
    if (!isEnd(event)) return
    const { status, statusReason } = event
    const at = yield* Clock.currentTimeMillis
    const finished = finishedRun(run, { status, statusReason, output: null, error, at }, null, guest.memoryBytes)
    yield* journal.append({
      id: run.id,
      organisationId: run.organisationId,
      spaceId: run.spaceId,
      retention: run.retention,
      epoch: run.epoch,
      end: finished,
      ...(yield* messagesOf(finished))
    })
    yield* live.stop(run.id, Option.some(finished))
  })

  const failWith = (run: OpenRun, error: RunError) => commitEnd(run, decide(run, { _tag: "Fail", error }), error)

  /** The code that the run began with, though its draft may have changed since; `None` when it is deleted. */
  const codeOf = (run: OpenRun, start: StartEntry): Effect.Effect<Option.Option<Runnable>, unknown> => {
    const { contentHash, workflowVersion } = run.record
    const found =
      workflowVersion === null
        ? Effect.flatMap(
            runnables.draftThatRan(run.organisationId, run.workflowId, contentHash),
            Option.match({ onSome: Effect.succeed, onNone: () => draftOf(run, start) })
          )
        : runnables.version(run.organisationId, run.workflowId, workflowVersion)
    return found.pipe(
      Effect.map(Option.some),
      Effect.catchTags({
        NotFound: () => Effect.succeedNone,
        ValidationFailed: () => Effect.succeedNone,
        WorkflowUnavailable: () => Effect.succeedNone
      })
    )
  }

  /** The draft of a run that was accepted by a release that kept drafts in the journal only. */
  const draftOf = (run: OpenRun, { script }: StartEntry) =>
    Effect.map(runnables.draft(run.organisationId, run.workflowId), (draft) =>
      script === null ? draft : { ...draft, script, contentHash: run.record.contentHash }
    )

  /**
   * Drives a run that this node owns from its journal. Ends it if its journal or its code is lost, or if it ended the
   * process that drove it too often.
   */
  const activate = Effect.fnUntraced(function* (
    taken: OpenRun,
    how: { readonly claimed: boolean; readonly alone: boolean }
  ) {
    yield* faults.at("claimed")
    const index = yield* Effect.retry(journal.index(taken.organisationId, taken.id), whileAway)
    const { rest, start } = index
    const rows = rest.length + 1
    if (start === undefined)
      return yield* failWith(
        taken,
        runError({ name: "JournalLost", category: "code", message: "the run's journal has no start" })
      )
    // The start of a run is in the journal before its first activation.
    const hasGrown = rows > Math.max(taken.progress, 1)
    if (taken.activations > poisonAfter && !hasGrown) {
      return yield* failWith(
        taken,
        runError({
          name: "Poisoned",
          code: poisonedCode,
          category: "code",
          message: `the process that took the run up ended ${taken.activations - 1} times before the run made progress`
        })
      )
    }
    // A run that starts has no earlier activation to compare its journal with.
    if (!how.claimed && hasGrown) yield* runs.recordProgress(taken, rows)
    const isCarried = engines.includes(taken.engine)
    // Left for a node that carries its engine, or for its deadline; `/readyz` reports it.
    if (!isCarried && rest.length > 0) return
    // A run without history may begin on any engine.
    const run = isCarried ? taken : yield* runs.changeEngine(taken, stage.engineOfNewRuns(engine))
    const code = yield* Effect.retry(codeOf(run, start), whileAway)
    if (Option.isNone(code))
      return yield* failWith(
        run,
        runError({ name: "WorkflowGone", category: "code", message: "the workflow of this run was deleted" })
      )
    const past = buildHistory(start, rest)
    live.launch(
      {
        alone: how.alone || (taken.activations > suspectAfter && !hasGrown),
        run: { ...run, attempt: past.attempt },
        runnable: code.value,
        start,
        history: past,
        mark: { isSet: true, isSuspected: !how.claimed },
        hasRow: true,
        nextSeq: rows,
        journalBytes: index.bytes
      },
      () => wakeups.signalSlot(accountOfRun(run))
    )
  })

  /** Releases the run's slot after `body`, unless the run was launched. */
  const releaseAfter = <E>(id: ExecutionId, body: Effect.Effect<void, E>): Effect.Effect<void, E> =>
    Effect.ensuring(
      body,
      Effect.sync(() => live.release(id))
    )

  /**
   * Takes the run over under a new epoch and drives it, unless its shard has left this node. The caller must have reserved
   * its slot.
   */
  const takeOver = (id: ExecutionId, alone = false) =>
    releaseAfter(
      id,
      Effect.suspend(() =>
        ownership.owns(ownership.shardOf(id))
          ? Effect.flatMap(
              runs.takeOver(id),
              Option.match({ onNone: () => Effect.void, onSome: (taken) => activate(taken, { claimed: false, alone }) })
            )
          : Effect.void
      )
    )

  /** Runs `body` for each of the runs. The failure of one stops no other, whose slot would stay reserved. */
  const forEachRun = <A, E>(taken: ReadonlyArray<A>, body: (run: A) => Effect.Effect<void, E>) =>
    Effect.forEach(taken, (run) => Effect.exit(body(run)), { concurrency: 8 }).pipe(
      Effect.flatMap((exits) => Effect.forEach(exits, identity, { discard: true }))
    )

  return { activate, commitEnd, forEachRun, releaseAfter, takeOver }
})
