/**
 * The port `DatabaseTrouble`: the pools count every error that the server sends. `/readyz` and the metrics show what lasts,
 * and the log tells when it begins and ends.
 */
import { Clock, Effect, Layer, Runtime } from "effect"
import { type DatabaseCondition, DatabaseTrouble, type OngoingTrouble } from "../../../actors/ports/DatabaseTrouble.js"
import { databaseConditionIn, databaseConditionOf } from "./DatabaseConditions.js"

/** How long a condition lasts until the log tells of it again. */
const repeatMillis = 60_000

export const layer = Layer.effect(
  DatabaseTrouble,
  Effect.gen(function* () {
    const runFork = Runtime.runFork(yield* Effect.runtime<never>())
    const clock = yield* Effect.clock
    const ongoing = new Map<string, OngoingTrouble>()
    const errors = new Map<string, number>()
    const toldAt = new Map<string, number>()

    const tell = (trouble: OngoingTrouble) =>
      Effect.logError("database.refuses").pipe(
        Effect.annotateLogs({
          condition: trouble.condition.name,
          sqlState: trouble.sqlState,
          cause: trouble.condition.cause,
          remedy: trouble.condition.remedy,
          refusals: trouble.refusals
        })
      )

    const meet = (condition: DatabaseCondition, sqlState: string | null) => {
      const now = clock.unsafeCurrentTimeMillis()
      const before = ongoing.get(condition.name)
      const trouble = {
        condition,
        sqlState: sqlState ?? before?.sqlState ?? null,
        since: before?.since ?? now,
        lastAt: now,
        refusals: (before?.refusals ?? 0) + 1
      }
      ongoing.set(condition.name, trouble)
      if (now - (toldAt.get(condition.name) ?? -Infinity) < repeatMillis) return
      toldAt.set(condition.name, now)
      runFork(tell(trouble))
    }

    const clear = (lastAt: number) =>
      Effect.forEach(
        [...ongoing].filter(([, trouble]) => trouble.lastAt < lastAt),
        ([name, { refusals, since }]) => {
          ongoing.delete(name)
          toldAt.delete(name)
          return Effect.flatMap(Clock.currentTimeMillis, (now) =>
            Effect.annotateLogs(Effect.logInfo("database.works_again"), {
              condition: name,
              refusals,
              afterMillis: now - since
            })
          )
        },
        { discard: true }
      )

    return DatabaseTrouble.of({
      note: (sqlState) => {
        errors.set(sqlState, (errors.get(sqlState) ?? 0) + 1)
        const condition = databaseConditionOf(sqlState)
        if (condition !== undefined) meet(condition, sqlState)
      },
      noteLog: (text) => {
        const condition = databaseConditionIn(text)
        if (condition !== undefined) meet(condition, null)
      },
      ongoing: () => [...ongoing.values()],
      errors: () => errors,
      clear
    })
  })
)
