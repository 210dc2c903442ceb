/** The port `DueTasks`: one named statement, which Postgres plans once for each connection. */
import { Effect, Layer, Schema } from "effect"
import { DueTasks } from "../../actors/ports/DueTasks.js"
import { Ownership } from "../../actors/ports/Ownership.js"
import type { StoredJobTask } from "../../actors/ports/FailedJobs.js"
import { firstRow } from "./database/DatabaseUnavailable.js"
import { WriterSql } from "./database/Pools.js"
import { anyHeld } from "./event/HeldEvents.js"
import { hasWork, isWorkLookedFor, ofShards } from "./LeasedWork.js"
import { rowDecoder } from "./record/Table.js"
import { arePollsStale } from "./trigger/Polls.js"
import { areSubscriptionsMissing } from "./trigger/Subscriptions.js"
import * as Kinds from "./WorkKinds.js"

/** Whether a task has work. A task without a row does not compile. */
const questions: { readonly [T in StoredJobTask]: ReadonlyArray<string> } = {
  "connections.renew": [
    isWorkLookedFor(ofShards(Kinds.connectionsToRenew, "$2")),
    isWorkLookedFor(ofShards(Kinds.connectionsToAbandon, "$2")),
    isWorkLookedFor(ofShards(Kinds.connectionsToDisconnect, "$2"))
  ],
  "deliveries.send": [hasWork(Kinds.deliveries("deliveries"))],
  "events.poll": [isWorkLookedFor(Kinds.polls), arePollsStale],
  "events.publish": [isWorkLookedFor(Kinds.domainEvents)],
  "events.release_held": [anyHeld, isWorkLookedFor(Kinds.expiredHolds)],
  "events.replay": [isWorkLookedFor(Kinds.replays), isWorkLookedFor(Kinds.scheduledLetters)],
  "events.subscribe": [isWorkLookedFor(Kinds.subscriptions), areSubscriptionsMissing],
  "schedules.fire": [isWorkLookedFor(Kinds.schedules)],
  "state.seal": [hasWork(Kinds.clearState)]
}

/** `$1`: the tasks that are asked for. Of the others nothing is read. `$2`: the shards of this node. */
const dueSql = `/* svc_due_tasks */ SELECT array_remove(ARRAY[${Object.entries(questions)
  .map(
    ([task, conditions]) => `CASE WHEN '${task}' = ANY($1::text[]) AND (${conditions.join(" OR ")}) THEN '${task}' END`
  )
  .join(", ")}], NULL) AS tasks`

const isTask = (task: string): task is StoredJobTask => task in questions
const decode = rowDecoder("of due tasks", { tasks: Schema.Array(Schema.String) })

export const layer = Layer.effect(
  DueTasks,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const { ownedShards } = yield* Ownership
    return DueTasks.of({
      among: (tasks) =>
        Effect.map(
          Effect.suspend(() => firstRow(sql.unsafe(dueSql, [tasks, ownedShards()]), decode)),
          (row) => (row?.tasks ?? tasks).filter(isTask)
        )
    })
  })
)
