/** Records when connections of this node were last used, in memory, and writes these times in batches. */
import { Clock, Duration, Effect } from "effect"
import type { ConnectionId } from "../../domain/Ids.js"
import { backgroundTask, repeatEvery } from "../BackgroundTask.js"
import { ConnectionSweeps } from "../ports/connection/ConnectionSweeps.js"

const writeInterval = Duration.seconds(2)

export class LastUse extends Effect.Service<LastUse>()("svc/connection/LastUse", {
  scoped: Effect.gen(function* () {
    const sweeps = yield* ConnectionSweeps
    let uses = new Map<ConnectionId, number>()
    const write = Effect.suspend(() => {
      if (uses.size === 0) return Effect.void
      const written = uses
      uses = new Map()
      return Effect.tapErrorCause(
        sweeps.recordUses(new Map([...written].map(([id, at]) => [id, new Date(at).toISOString()]))),
        // Kept for the next pass, unless the connection was used again since.
        () =>
          Effect.sync(() => {
            uses = new Map([...written, ...uses])
          })
      )
    })
    const task = yield* backgroundTask("connections.uses", write)
    const pass = Effect.zipRight(
      task.run,
      Effect.suspend(() => task.reportWaiting(uses.size > 0))
    )
    yield* repeatEvery(writeInterval, pass, "later")
    yield* Effect.addFinalizer(() => task.run)
    return {
      record: (id: ConnectionId) =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          uses.set(id, now)
        })
    }
  })
}) {}
