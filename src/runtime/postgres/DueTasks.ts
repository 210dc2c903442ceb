/** The port `DueTasks`: one named statement, which Postgres plans once for each connection. */
import { Effect, Layer, Schema } from "effect"
import { DueTasks } from "../../actors/PassTimes.js"
import { Ownership } from "../../actors/ports/Ownership.js"
import { firstRow } from "./database/DatabaseUnavailable.js"
import { WriterSql } from "./database/Pools.js"
import { type DueKind, isWorkLookedFor, ofShards } from "./LeasedWork.js"
import { rowDecoder } from "./record/Table.js"

/** What is work for a task: kinds of stored work, and conditions under which it has something else to do. */
export type TaskWork<N extends string = string> = ReadonlyArray<DueKind<N> | string>

/** A task, and what is work for it. */
interface AskedTask {
  readonly name: string
  readonly work: TaskWork
}

const conditionOf = (one: DueKind | string): string => {
  if (typeof one === "string") return one
  const { hasShards, ...kind } = one
  return isWorkLookedFor(hasShards === undefined ? kind : ofShards({ ...kind, hasShards }, "$2"))
}

/** `$1`: the tasks that are asked for. Of the others nothing is read. `$2`: the shards of this node. */
const dueSql = (tasks: ReadonlyArray<AskedTask>): string =>
  `/* svc_due_tasks */ SELECT array_remove(ARRAY[${tasks
    .map(
      ({ name, work }) =>
        `CASE WHEN '${name}' = ANY($1::text[]) AND (${work.map(conditionOf).join(" OR ")}) THEN '${name}' END`
    )
    .join(", ")}], NULL) AS tasks`

const decode = rowDecoder("of due tasks", { tasks: Schema.Array(Schema.String) })

export const layer = (all: ReadonlyArray<AskedTask>) =>
  Layer.effect(
    DueTasks,
    Effect.gen(function* () {
      const sql = yield* WriterSql
      const { ownedShards } = yield* Ownership
      const text = dueSql(all)
      return DueTasks.of({
        among: (tasks) =>
          Effect.map(
            Effect.suspend(() => firstRow(sql.unsafe(text, [tasks, ownedShards()]), decode)),
            (row) => row?.tasks ?? tasks
          )
      })
    })
  )
