/** `svc verify-events`: proves that every accepted event is accounted for, while the service runs. */
import { Command, Options } from "@effect/cli"
import { Clock, Console, Duration, Effect } from "effect"
import { reconciliationPeriod } from "../../domain/Limits.js"
import { readConfig } from "../configuration/Config.js"
import { reconcile } from "../postgres/event/Reconcile.js"
import { WriterSql } from "../postgres/database/Pools.js"
import { unreachableError } from "../postgres/database/UnreachableDatabase.js"
import { OperatorError } from "../process/OperatorError.js"
import { layerBeside } from "../program/Layers.js"

const since = Options.text("since").pipe(
  Options.withDescription("How far back: a number and m, h or d, such as 90m, 24h or 7d"),
  Options.withDefault("24h")
)

const unitMillis: { readonly [unit: string]: number } = { m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Milliseconds of a text such as `24h`; `undefined` for other text. */
const millisOf = (text: string): number | undefined => {
  const match = /^(\d{1,6})([mhd])$/.exec(text)
  return match === null ? undefined : Number(match[1]) * (unitMillis[match[2] ?? ""] ?? 0)
}

const everywhere = {
  events: () => "true",
  paged: () => "true",
  pagedValues: [],
  places: () => "true",
  claims: () => "true",
  counts: () => "true",
  values: []
}

const reconcileAll = (from: number, to: number) =>
  Effect.flatMap(WriterSql, (sql) =>
    reconcile((text, values) => sql.unsafe(text, values), everywhere, { from, to, mostMillis: Infinity })
  )

export const verifyEventsCommand = Command.make("verify-events", { since }, ({ since }) =>
  Effect.gen(function* () {
    const millis = millisOf(since)
    const most = Duration.toDays(reconciliationPeriod)
    if (millis === undefined || millis === 0 || millis > Duration.toMillis(reconciliationPeriod))
      return yield* new OperatorError({
        message: `--since ${since} is no time: give a number and m, h or d, at most ${most}d, such as --since 24h`
      })
    const config = yield* readConfig()
    const to = yield* Clock.currentTimeMillis
    const found = yield* Effect.provide(reconcileAll(to - millis, to), layerBeside(config))
    const { accepted, complete, dead, duplicate, executed, held, ignored, missing, unaccounted, waiting } = found
    yield* Console.log(
      `${accepted} events accepted since ${found.from}: ${executed} executed, ${ignored} ignored, ${held} held, ` +
        `${waiting} waiting, ${dead} dead, ${duplicate} duplicates, ${unaccounted.length} unaccounted for.`
    )
    if (!complete)
      yield* Console.log(`So many are unaccounted for that the rest was not looked at, from ${found.to} on.`)
    for (const id of unaccounted) yield* Console.log(id)
    for (const { events, minute, triggerId } of missing)
      yield* Console.log(
        `${events} accepted in the minute of ${minute}, of ${triggerId ?? "no trigger"}, have no row any more.`
      )
    if (unaccounted.length + missing.length > 0)
      return yield* new OperatorError({ message: "The events above are unaccounted for: their rows are missing." })
  }).pipe(Effect.scoped, Effect.catchTag("SqlError", unreachableError))
).pipe(Command.withDescription("Prove that every accepted event was executed, ignored, held, given up or a duplicate"))
