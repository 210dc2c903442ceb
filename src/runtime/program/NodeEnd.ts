/** What the watch of a node's shards asks of the program: whether Postgres works, and the end of this process. */
import { Effect, Layer } from "effect"
import { DatabaseTrouble } from "../../actors/ports/DatabaseTrouble.js"
import { type ShardReading, layer as shardWatch } from "../../actors/shard/ShardWatch.js"
import { nodeLife } from "../../domain/run/NodeLife.js"
import { answersPromptly } from "../postgres/database/SlowStatements.js"
import { Databases } from "./Layers.js"

/** As after an unexpected error: who started the process starts it again. */
const exitCode = 70
/** What hangs may keep an orderly stop from its end. */
const stopMillis = 5_000

/** Stops in order, so that other nodes take the shards at once, and ends the process in any case. */
const end = ({ held, overdue, unanswered }: ShardReading) =>
  Effect.zipRight(
    Effect.annotateLogs(Effect.logFatal("node.does_not_work"), {
      afterSeconds: (nodeLife.endTicks * nodeLife.tickMillis) / 1_000,
      shards: held,
      unansweredShards: unanswered,
      overdueTasks: overdue,
      remedy: "start it again: it ends now, with exit code 70; other nodes take its shards"
    }),
    Effect.sync(() => {
      process.exitCode = exitCode
      setTimeout(() => process.exit(exitCode), stopMillis).unref()
      process.kill(process.pid, "SIGTERM")
    })
  )

/** The watch of this node's shards. */
export const layer = Layer.unwrapEffect(
  Effect.gen(function* () {
    const { writer } = yield* Databases
    const trouble = yield* DatabaseTrouble
    const refusesAll = Effect.sync(() => trouble.ongoing().some(({ condition }) => condition.refusesAll))
    const databaseWorks = Effect.flatMap(refusesAll, (refuses) =>
      refuses ? Effect.succeed(false) : answersPromptly(writer)
    )
    return shardWatch({ databaseWorks, end })
  })
)
