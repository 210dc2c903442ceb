/** The ports `Journal` and `EventJournal` on Postgres: append through the group-commit writer, reads on the writer's pool. */
import { Cause, Context, Effect, Exit, Layer, Option, Redacted, Runtime } from "effect"
import { type Appended, EventJournal, type EventChange } from "../../../actors/ports/event/EventJournal.js"
import {
  type AppendFailure,
  Journal,
  JournalDepth,
  JournalUnavailable,
  type RunChange
} from "../../../actors/ports/run/Journal.js"
import { repeatEvery } from "../../../actors/BackgroundTask.js"
import { BackgroundTasks } from "../../../actors/ports/BackgroundTasks.js"
import { DatabaseTrouble } from "../../../actors/ports/DatabaseTrouble.js"
import type { EventPriority } from "../../../domain/event/Event.js"
import { Vault } from "../../../actors/ports/Vault.js"
import { Wakeups } from "../../../actors/ports/run/Wakeups.js"
import { ConnectTimeout } from "../database/pool/ConnectTimeout.js"
import { OpenSockets } from "../database/pool/OpenSockets.js"
import { WriterSql } from "../database/Pools.js"
import { countersOf, openCountersSql } from "../quota/QuotaDecision.js"
import { makeJournalReads } from "./JournalReads.js"
import type { PreparedUnit } from "./FlushPart.js"
import { prepareUnit } from "./FlushTables.js"
import type { Unit } from "./Unit.js"
import { isSealed } from "./EventRow.js"
import { makeWriter } from "./Writer.js"
import { journalUnavailable } from "../database/DatabaseUnavailable.js"

/** How often it is seen whether changes wait. */
const lookInterval = "1 second"
/** Names of counters that are remembered. */
const maxOpenCounters = 10_000

/** Only a unit with sealed rows needs a vault. */
const noVault = (): never => {
  throw new Error("rows cannot be sealed without their organisation's vault")
}

const needsVault = ({ event, runs }: Unit): boolean => {
  const written = event?.receives?.event ?? event?.records?.event
  return runs.some((run) => (run.journal?.length ?? 0) > 0) || (written !== undefined && isSealed(written))
}

/** What a commit wakes; `queued`: the classes of which something may start. `note`: called with each row that waits. */
const wakeUps = (units: ReadonlyArray<PreparedUnit>, note: Wakeups["Type"]["noteQueued"]) => {
  const queued = new Set<EventPriority>()
  let deliveries = false
  for (const { unit } of units) {
    const received = unit.event?.receives
    if (received !== undefined && received.queue.leasedBy === null && !received.queue.held) {
      queued.add(received.event.priority)
      note(received.event.priority, received.queue.shard)
    }
    for (const run of unit.runs) {
      if (run.enqueue !== undefined && run.open !== undefined) {
        queued.add(run.open.priority)
        note(run.open.priority, run.open.shard)
      }
      // The next event of a lane may start once its run has ended.
      if (run.end?.run.record.lane !== undefined) queued.add(run.end.run.priority)
      if (run.deliveries !== undefined && run.deliveries.length > 0) deliveries = true
    }
  }
  return { queued, deliveries }
}

/** `capacity`: changes that may be queued; `writer`: the login of the writer's role. */
export const layer = (options: { readonly capacity: number; readonly writer: Redacted.Redacted }) =>
  Layer.scopedContext(
    Effect.gen(function* () {
      const sql = yield* WriterSql
      const vault = yield* Vault
      const wakeups = yield* Wakeups
      const trouble = yield* Effect.serviceOption(DatabaseTrouble)
      const sockets = Option.getOrUndefined(yield* Effect.serviceOption(OpenSockets))
      const connectTimeout = yield* ConnectTimeout

      const clock = yield* Effect.clock
      const report = (yield* BackgroundTasks).register("runs.commit", { isOfShards: true })
      const committed = (units: ReadonlyArray<PreparedUnit>) => {
        report.recordSuccess(clock.unsafeCurrentTimeMillis())
        const { deliveries, queued } = wakeUps(units, wakeups.noteQueued)
        for (const priority of queued) wakeups.signalQueued(priority)
        if (deliveries) wakeups.signalDelivery()
        wakeups.noteCommitted(new Set(units.map(({ unit }) => unit.organisationId)))
      }
      const writer = yield* Effect.acquireRelease(
        Effect.sync(() =>
          makeWriter({
            connectionString: Redacted.value(options.writer),
            connectTimeout,
            sockets,
            capacity: options.capacity,
            onCommit: committed,
            onError: Option.match(trouble, { onNone: () => () => undefined, onSome: ({ note }) => note })
          })
        ),
        (writer) => Effect.promise(() => writer.close())
      )
      yield* repeatEvery(
        lookInterval,
        Effect.sync(() => report.recordWaiting(writer.pending() > 0, clock.unsafeCurrentTimeMillis()))
      )

      const write = (prepared: PreparedUnit) =>
        Effect.async<Appended, AppendFailure>((resume) => {
          writer.write(prepared, (failure, isHeld = false) =>
            resume(failure === undefined ? Effect.succeed({ isHeld }) : Effect.fail(failure))
          )
        })

      const appendUnit = (unit: Unit): Effect.Effect<Appended, AppendFailure> =>
        needsVault(unit)
          ? vault.of(unit.organisationId).pipe(
              Effect.mapError((refused) => new JournalUnavailable({ reason: refused.reason })),
              Effect.flatMap((sealer) => write(prepareUnit(unit, () => sealer)))
            )
          : Effect.suspend(() => write(prepareUnit(unit, noVault)))

      const append = (change: RunChange) =>
        Effect.asVoid(appendUnit({ organisationId: change.organisationId, runs: [change] }))

      const runFork = Runtime.runFork(yield* Effect.runtime<never>())
      const commit = (change: RunChange, done: (failure: AppendFailure | undefined) => void): void => {
        const unit = { organisationId: change.organisationId, runs: [change] }
        const sealer = needsVault(unit) ? vault.cached(change.organisationId) : noVault
        if (sealer !== undefined)
          return writer.write(prepareUnit(unit, typeof sealer === "function" ? sealer : () => sealer), done)
        // The organisation's key is read first.
        const logged = Effect.tapDefect(append(change), (defect) => Effect.logError("journal.append_failed", defect))
        runFork(logged).addObserver((exit) => {
          if (Exit.isSuccess(exit)) return done(undefined)
          const unexpected = () => new JournalUnavailable({ reason: "an unexpected error" })
          done(Option.getOrElse(Cause.failureOption(exit.cause), unexpected))
        })
      }

      /** The latest counter of each name that exists. */
      const openCounters = new Map<string, number>()
      const openMissing = (event: EventChange) => {
        const allowance = event.receives?.allowance
        if (allowance === undefined) return undefined
        const missing = countersOf(allowance).filter(
          ({ bucket, day, org }) => openCounters.get(`${org}|${bucket}`) !== day
        )
        if (missing.length === 0) return undefined
        return sql.unsafe(openCountersSql, [JSON.stringify(missing)]).pipe(
          Effect.mapError(journalUnavailable),
          Effect.map(() => {
            if (openCounters.size >= maxOpenCounters) openCounters.clear()
            for (const { bucket, day, org } of missing) openCounters.set(`${org}|${bucket}`, day)
          })
        )
      }

      const appendEvent = (event: EventChange): Effect.Effect<Appended, AppendFailure> => {
        const appended = appendUnit({ organisationId: event.organisationId, runs: event.runs ?? [], event })
        const opened = openMissing(event)
        return opened === undefined ? appended : Effect.zipRight(opened, appended)
      }

      const reads = makeJournalReads(sql, vault)

      return Context.make(Journal, Journal.of({ append, commit, ...reads })).pipe(
        Context.add(EventJournal, EventJournal.of({ append: appendEvent })),
        Context.add(JournalDepth, writer.pending)
      )
    })
  )
