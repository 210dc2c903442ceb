/** The port `TriggerMeter`: one statement a second writes the last firings of at most so many triggers. */
import { Duration, Effect, Layer } from "effect"
import { backgroundTask, repeatEvery } from "../../../actors/BackgroundTask.js"
import { TriggerMeter } from "../../../actors/ports/event/Triggers.js"
import type { TriggerId } from "../../../domain/Ids.js"
import { WriterSql } from "../database/Pools.js"

const flushInterval = Duration.seconds(1)
/** Triggers of one statement; the others wait for the next. */
const batchSize = 500

export const layer = Layer.scoped(
  TriggerMeter,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const fired = new Map<TriggerId, number>()

    const noteFired = (trigger: TriggerId, at: number): void => {
      if ((fired.get(trigger) ?? 0) < at) fired.set(trigger, at)
    }

    const takeBatch = (): ReadonlyArray<readonly [TriggerId, number]> => {
      const batch: Array<readonly [TriggerId, number]> = []
      for (const [trigger, at] of fired) {
        if (batch.length >= batchSize) break
        batch.push([trigger, at])
        fired.delete(trigger)
      }
      return batch
    }

    const flush = Effect.suspend(() => {
      if (fired.size === 0) return Effect.void
      const batch = takeBatch()
      return sql`INSERT INTO trigger_states (trigger_id, org, last_fired_at)
          SELECT t.id, t.org, to_timestamp(f.at / 1000) FROM unnest(${batch.map(([trigger]) => trigger)}::text[],
            ${batch.map(([, at]) => at)}::float8[]) AS f (id, at) JOIN triggers t ON t.id = f.id ORDER BY t.id
          ON CONFLICT (trigger_id) DO UPDATE
            SET last_fired_at = GREATEST(trigger_states.last_fired_at, excluded.last_fired_at)`.pipe(
        Effect.tapError(() => Effect.sync(() => batch.forEach(([trigger, at]) => noteFired(trigger, at))))
      )
    })

    const task = yield* backgroundTask("triggers.note_fired", flush)
    yield* Effect.addFinalizer(() => Effect.ignore(flush))
    yield* repeatEvery(flushInterval, task.run, "later")
    return TriggerMeter.of({ noteFired })
  })
)
