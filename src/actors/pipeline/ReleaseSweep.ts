/** Releases held events whose customers are active again. */
import { Duration, Effect, Layer } from "effect"
import { backgroundTask } from "../BackgroundTask.js"
import { OpenEvents } from "../ports/OpenEvents.js"
import { Wakeups } from "../ports/Wakeups.js"

const sweepInterval = Duration.seconds(2)
/** Events that one statement releases. */
const batch = 500

export const layer = Layer.scopedDiscard(
  Effect.gen(function* () {
    const events = yield* OpenEvents
    const wakeups = yield* Wakeups
    const release = (advance: Effect.Effect<void>) =>
      Effect.gen(function* () {
        for (;;) {
          const released = yield* events.releaseOfCustomers(batch)
          if (released > 0) wakeups.signalQueued()
          if (released < batch) return
          yield* advance
        }
      })
    const task = yield* backgroundTask("events.release", release)
    yield* Effect.zipRight(task.run, Effect.sleep(sweepInterval)).pipe(
      Effect.forever,
      Effect.interruptible,
      Effect.forkScoped
    )
  })
)
