/** Advances replays of many dead letters: each at its rate, over restarts, on one node at a time. */
import { Duration, Effect, Layer, Option } from "effect"
import { backgroundTask } from "../BackgroundTask.js"
import { DeadLetters, type RunningReplay } from "../ports/DeadLetters.js"
import { Replays } from "../ports/Replays.js"

const sweepInterval = Duration.seconds(1)
/** Replays that one node advances at once. */
const replaysAtOnce = 10

/** Advances a replay by the dead letters of one second, or one of them at a lower rate. */
const advance = (letters: DeadLetters["Type"], replays: Replays["Type"], replay: RunningReplay) =>
  Effect.gen(function* () {
    const left = replay.limit - replay.replayed - replay.failed
    const most = Math.min(left, Math.max(1, Math.floor(replay.ratePerSecond)))
    const ids = yield* letters.nextOf(replay, most)
    let { after, failed, replayed } = replay
    for (const id of ids) {
      const source = Option.getOrUndefined(yield* letters.source(replay, id))
      const isReplayed =
        source !== undefined &&
        (yield* replays.letter(replay, source, undefined).pipe(
          Effect.as(true),
          // It was replayed or discarded meanwhile, or its trigger is gone.
          Effect.catchTags({ InvalidState: () => Effect.succeed(false), NotFound: () => Effect.succeed(false) })
        ))
      if (isReplayed) replayed++
      else failed++
      after = id
    }
    const isFinished = ids.length < most || replayed + failed >= replay.limit
    const pause = (Math.max(1, ids.length) / replay.ratePerSecond) * 1_000
    yield* letters.advance({ ...replay, after, failed, replayed }, isFinished ? undefined : pause)
  })

export const layer = Layer.scopedDiscard(
  Effect.gen(function* () {
    const letters = yield* DeadLetters
    const replays = yield* Replays
    const task = yield* backgroundTask("events.replay", (report: Effect.Effect<void>) =>
      Effect.flatMap(letters.takeReplays(replaysAtOnce), (taken) =>
        Effect.forEach(taken, (replay) => Effect.zipRight(advance(letters, replays, replay), report), {
          discard: true
        })
      )
    )
    yield* Effect.zipRight(task.run, Effect.sleep(sweepInterval)).pipe(
      Effect.forever,
      Effect.interruptible,
      Effect.forkScoped
    )
  })
)
