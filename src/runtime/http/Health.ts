/** The probes of operators: `/healthz`, whether the process is alive, and `/readyz`, whether it accepts work. */
import { Clock, Effect, Option, Schema } from "effect"
import { builtInConnectors } from "../../domain/connectors/index.js"
import { Sandbox } from "../../actors/ports/run/Sandbox.js"
import { AuditTrail } from "../../actors/ports/AuditTrail.js"
import { BackgroundTasks, isFailing } from "../../actors/ports/BackgroundTasks.js"
import { EventStream } from "../../actors/ports/event/EventStream.js"
import { FailedJobs } from "../../actors/ports/FailedJobs.js"
import { isWorking, ShardWatch } from "../../actors/shard/ShardWatch.js"
import { StartQueue } from "../../actors/ports/run/StartQueue.js"
import { WorkspaceDb } from "../../actors/ports/run/WorkspaceDb.js"
import { jsonReply, type RawReply } from "../../http/Wire.js"
import { DatabaseTrouble, type OngoingTrouble } from "../../actors/ports/DatabaseTrouble.js"
import { type MissingAction, findMissingActions } from "../postgres/MissingActions.js"
import { pendingMigrations } from "../postgres/database/Migrations.js"
import { sqlStateOf } from "../postgres/database/DatabaseUnavailable.js"
import { WriterSql } from "../postgres/database/Pools.js"
import { watchIdleCores } from "./IdleCores.js"
import { auditSeal } from "../../domain/Limits.js"
import { rowDecoder } from "../postgres/record/Table.js"

export interface Health {
  /** The same at all times: it costs no more than to write it. */
  readonly healthz: RawReply
  readonly readyz: Effect.Effect<RawReply>
  /** Makes the node report that it is not ready. */
  readonly drain: () => void
  /** Makes the node report that it is not ready until the returned function is called. */
  readonly markStarting: () => () => void
}

const decodeEngine = rowDecoder("runs", { engine: Schema.String, n: Schema.Number })

const unanswered = "the database does not answer"

const shownTrouble = ({ condition, lastAt, refusals, since, sqlState }: OngoingTrouble) => ({
  condition: condition.name,
  ...(sqlState === null ? {} : { sqlState }),
  refusals,
  since: new Date(since).toISOString(),
  lastAt: new Date(lastAt).toISOString()
})

/** What a check looks for and should not find. A look that fails has found nothing, and is no success. */
interface Look<A> {
  readonly found: ReadonlyArray<A>
  readonly check: { readonly ok: boolean; readonly detail?: string }
}

const notRead = <A>(detail: string): Look<A> => ({ found: [], check: { ok: false, detail } })

const lookFor = <A>(read: Effect.Effect<ReadonlyArray<A>, unknown>): Effect.Effect<Look<A>> =>
  Effect.match(read, {
    onSuccess: (found) => ({ found, check: { ok: found.length === 0 } }),
    onFailure: (failure) => {
      const state = sqlStateOf(failure)
      return notRead(`the database refuses the look${state === undefined ? "" : ` (SQLSTATE ${state})`}`)
    }
  })

export const make = Effect.gen(function* () {
  const sql = yield* WriterSql
  const sandbox = yield* Sandbox
  const workspaceDb = yield* WorkspaceDb
  const trail = yield* AuditTrail
  const tasks = yield* BackgroundTasks
  const shards = yield* ShardWatch

  const stream = yield* EventStream
  const queue = yield* StartQueue
  const failedJobs = yield* FailedJobs

  const trouble = yield* DatabaseTrouble
  const noteOfCores = yield* watchIdleCores

  /** Whether the database answers, and what it refuses. `works`: work can be accepted. */
  const checkDatabase = sql`SELECT 1`.pipe(
    Effect.timeout("2 seconds"),
    Effect.isSuccess,
    Effect.map((answers) => {
      const refusals = trouble.ongoing()
      const [first] = refusals.toSorted((a, b) => Number(b.condition.refusesAll) - Number(a.condition.refusesAll))
      const reason = first === undefined ? undefined : `${first.condition.cause}: ${first.condition.remedy}`
      const detail = answers ? reason : [unanswered, reason].filter((part) => part !== undefined).join("; ")
      return {
        answers,
        works: answers && !refusals.some(({ condition }) => condition.refusesAll),
        check: {
          ok: answers && first === undefined,
          ...(detail === undefined ? {} : { detail }),
          ...(first === undefined ? {} : { refuses: refusals.map(shownTrouble) })
        }
      }
    })
  )

  /** Runs that no engine of this release can replay. */
  const findForeignEngines = sql`SELECT engine, count(*)::int AS n FROM runs GROUP BY engine`.pipe(
    Effect.map((rows) => rows.map(decodeEngine).filter((row) => !sandbox.engines.includes(row.engine)))
  )

  const findMissingMigrations = pendingMigrations(sql)

  /** Background tasks that fail. Requests are still served: the node is degraded, but ready. */
  const findFailingTasks = Effect.map(Clock.currentTimeMillis, (now) =>
    tasks
      .statuses()
      .filter((status) => isFailing(status, now))
      .map(({ failuresInARow, name, succeededAt }) => ({
        name,
        failuresInARow,
        lastSuccessAt: succeededAt === null ? null : new Date(succeededAt).toISOString()
      }))
  )

  /** Tasks with a fixed number of jobs that are not done yet. They make no node degraded. */
  const findRemaining = () =>
    tasks.statuses().flatMap(({ name, remaining }) => (remaining === null ? [] : [{ name, remaining }]))

  /** Stored jobs that failed three times in a row, by task. They stop nothing else: the node is degraded, but ready. */
  const findSetAside = failedJobs.setAside

  /** Whether entries wait for their seal longer than they do with a working sealer. */
  const checkAudit = trail.backlog.pipe(
    Effect.map(({ oldestSeconds, unsealed }) => ({
      ok: oldestSeconds <= auditSeal.overdueSeconds,
      unsealed,
      oldestSeconds
    })),
    Effect.catchAll(({ reason }) => Effect.succeed({ ok: false, detail: reason }))
  )

  /** Whether this node does the work of the shards that it holds. */
  const checkShards = Effect.sync(() => {
    const reading = shards.reading()
    const { held, overdue, unanswered } = reading
    return { ok: isWorking(reading), held, unanswered, overdueTasks: overdue }
  })

  /** The way of events, and what waits. A broker that is away only degrades: events go the direct way. */
  const checkEvents = Effect.gen(function* () {
    const { carried, detail, driver, ok } = yield* stream.status
    const backlog = yield* Effect.option(queue.backlog)
    return {
      ok: ok && Option.isSome(backlog),
      driver,
      ...(ok ? (Option.isSome(backlog) ? {} : { detail: "what waits cannot be read" }) : { detail }),
      carried,
      ...Option.getOrElse(backlog, () => ({}))
    }
  })

  /** The checks of a node's readiness. `phaseOf`: why the node takes no work now, even if every check passes. */
  const checkReadiness = Effect.fnUntraced(function* (
    lost: Effect.Effect<ReadonlyArray<MissingAction>, unknown>,
    phaseOf: () => "draining" | "starting" | null
  ) {
    const db = yield* checkDatabase
    const jail = yield* sandbox.jail
    const workspaces = yield* workspaceDb.status
    const look = <A>(read: Effect.Effect<ReadonlyArray<A>, unknown>) =>
      db.answers ? lookFor(read) : Effect.succeed(notRead<A>(unanswered))
    const foreign = yield* look(findForeignEngines)
    const gone = yield* look(lost)
    const lacking = yield* look(findMissingMigrations)
    const failing = yield* findFailingTasks
    const setAside = yield* look(findSetAside)
    const sealed = db.answers ? yield* checkAudit : { ok: false, detail: unanswered }
    const events = yield* checkEvents
    const owned = yield* checkShards
    const phase = phaseOf()
    // They were there at the start: one that cannot read them now is degraded.
    const ready = db.works && owned.ok && lacking.found.length === 0 && phase === null
    const checks = {
      database: db.check,
      migrations: { ...lacking.check, missing: lacking.found },
      engines: { ...foreign.check, current: sandbox.engine, carried: sandbox.engines, others: foreign.found },
      tasks: {
        ...setAside.check,
        ok: failing.length === 0 && setAside.check.ok,
        failing,
        setAside: setAside.found,
        inProgress: findRemaining()
      },
      shards: owned,
      audit: sealed,
      events,
      actions: { ...gone.check, lost: gone.found },
      dbQuery: { ok: db.answers && workspaces.ok, ...(workspaces.ok ? {} : { detail: workspaces.detail }) }
    }
    const degraded = Object.values(checks).some(({ ok }) => !ok)
    const note = noteOfCores()
    return jsonReply(ready ? 200 : 503, {
      status: phase ?? (!ready ? "not_ready" : degraded ? "degraded" : "ready"),
      // Advice, which makes no check fail.
      ...(note === undefined ? {} : { notes: [note] }),
      // How strong the jail is depends on the machine only: it makes no node degraded.
      checks: { ...checks, jail: { ok: jail.level === "full", level: jail.level, detail: jail.detail } }
    })
  })

  let isDraining = false
  let isStarting = false

  const find = findMissingActions(sql, builtInConnectors)
  const warnOfLost = (actions: ReadonlyArray<MissingAction>) =>
    Effect.annotateLogs(Effect.logWarning("connectors.actions_lost"), {
      actions: actions.map(lostText),
      remedy: "publish the workflows that call them again"
    })
  const lostNow = yield* Effect.cachedWithTTL(find, "1 minute")
  /** Publishing again may repair them; once there are none, no further ones are lost while this release runs. */
  let areAllThere = false
  const lost = Effect.suspend(() =>
    areAllThere
      ? Effect.succeed([])
      : Effect.tap(lostNow, (actions) => Effect.sync(() => (areAllThere = actions.length === 0)))
  )
  yield* Effect.forkDaemon(
    Effect.ignore(Effect.flatMap(lost, (actions) => (actions.length === 0 ? Effect.void : warnOfLost(actions))))
  )

  return {
    healthz: jsonReply(200, { status: "ok" }),
    readyz: checkReadiness(lost, () => (isDraining ? "draining" : isStarting ? "starting" : null)),
    drain: () => {
      isDraining = true
    },
    markStarting: () => {
      isStarting = true
      return () => {
        isStarting = false
      }
    }
  } satisfies Health
})

const lostText = ({ action, connector, version, workflows }: MissingAction): string =>
  `${connector}.${action}@${version} (${workflows} workflow${workflows === 1 ? "" : "s"})`
