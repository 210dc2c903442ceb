/**
 * Replays dead letters in the background: advances the replays of many, each at its rate, over restarts, on one node at a
 * time, and replays those that their policies replay on a schedule.
 */
import { Duration, Effect, Layer, Option } from "effect"
import { backgroundTask } from "../BackgroundTask.js"
import type { Failure } from "../../domain/Failure.js"
import type { DeadLetterId } from "../../domain/Ids.js"
import { DeadLetters, type RunningReplay } from "../ports/DeadLetters.js"
import type { EventHome } from "../ports/EventReads.js"
import { Replays } from "../ports/Replays.js"

const sweepInterval = Duration.seconds(1)
/** Replays that one node advances at once. */
const replaysAtOnce = 10

/** Dead letters that one pass replays on a schedule. */
const scheduledAtOnce = 50

/** Replays one dead letter. `false`: it was replayed or discarded meanwhile, or its workspace is gone. */
const replayOne = (
  letters: DeadLetters["Type"],
  replays: Replays["Type"],
  home: EventHome,
  id: DeadLetterId
): Effect.Effect<boolean, Failure> =>
  Effect.gen(function* () {
    const source = Option.getOrUndefined(yield* letters.source(home, id))
    if (source === undefined) return false
    yield* replays.letter(home, source, undefined)
    return true
  }).pipe(
    Effect.catchTags({ InvalidState: () => Effect.succeed(false), NotFound: () => Effect.succeed(false) }),
    Effect.tap((isReplayed) => (isReplayed ? Effect.void : letters.putBack(id)))
  )

/** Advances a replay by the dead letters of one second, or one of them at a lower rate. */
const advance = (letters: DeadLetters["Type"], replays: Replays["Type"], replay: RunningReplay) =>
  Effect.gen(function* () {
    const left = replay.limit - replay.replayed - replay.failed
    const most = Math.min(left, Math.max(1, Math.floor(replay.ratePerSecond)))
    const ids = yield* letters.nextOf(replay, most)
    let { after, failed, replayed } = replay
    for (const id of ids) {
      const isReplayed = yield* replayOne(letters, replays, replay, id)
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
      Effect.gen(function* () {
        for (const replay of yield* letters.takeReplays(replaysAtOnce))
          yield* Effect.zipRight(advance(letters, replays, replay), report)
        for (const { id, ...home } of yield* letters.takeScheduled(scheduledAtOnce))
          yield* Effect.zipRight(replayOne(letters, replays, home, id), report)
      })
    )
    yield* Effect.zipRight(task.run, Effect.sleep(sweepInterval)).pipe(
      Effect.forever,
      Effect.interruptible,
      Effect.forkScoped
    )
  })
)
