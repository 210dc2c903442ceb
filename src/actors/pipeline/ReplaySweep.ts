/**
 * Replays dead letters in the background: advances the replays of many, each at its rate, over restarts, on one node at a
 * time, and replays those that their policies replay on a schedule.
 */
import { Duration, Effect, Option } from "effect"
import { leasedTask, type SweepTools } from "../LeasedWork.js"
import type { Failure } from "../../domain/Failure.js"
import type { DeadLetterId } from "../../domain/Ids.js"
import { DeadLetters, type RunningReplay } from "../ports/event/DeadLetters.js"
import type { EventHome } from "../ports/event/EventReads.js"
import { type LetterOptions, Replays } from "../ports/event/Replays.js"

const sweepInterval = Duration.seconds(1)
/** Replays that one node advances at once. */
const replaysAtOnce = 10

/** Dead letters that one pass replays on a schedule. */
const scheduledAtOnce = 50

const make = Effect.fnUntraced(function* ({ jobs }: SweepTools) {
  const letters = yield* DeadLetters
  const replays = yield* Replays

  /** Replays one dead letter. `false`: it was replayed or discarded meanwhile, is out of scope, or its workspace is gone. */
  const replayOne = (home: EventHome, id: DeadLetterId, options: LetterOptions): Effect.Effect<boolean, Failure> =>
    Effect.gen(function* () {
      const source = Option.getOrUndefined(yield* letters.source(home, id))
      if (source === undefined) return false
      yield* replays.letter(home, source, options)
      return true
    }).pipe(
      Effect.catchTags({
        Forbidden: () => Effect.succeed(false),
        InvalidState: () => Effect.succeed(false),
        NotFound: () => Effect.succeed(false)
      }),
      Effect.tap((isReplayed) => (isReplayed ? Effect.void : letters.putBack(id)))
    )

  /** Advances a replay by the dead letters of one second, or one of them at a lower rate. */
  const advance = Effect.fnUntraced(function* (replay: RunningReplay) {
    const left = replay.limit - replay.replayed - replay.failed
    const most = Math.min(left, Math.max(1, Math.floor(replay.ratePerSecond)))
    const ids = yield* letters.nextOf(replay, most)
    const { resolved, scope } = replay.filter
    const options = { isRequested: resolved === undefined, ...(scope === undefined ? {} : { scope }) }
    let { after, failed, replayed } = replay
    for (const id of ids) {
      let isReplayed = false
      const replaying = Effect.map(replayOne(replay, id, options), (done) => void (isReplayed = done))
      // One that fails is left as it is, and counted.
      if (!(yield* jobs.attempt({ id, organisationId: replay.organisationId }, replaying))) yield* letters.putBack(id)
      if (isReplayed) replayed++
      else failed++
      after = id
    }
    const isFinished = ids.length < most || replayed + failed >= replay.limit
    const pause = (Math.max(1, ids.length) / replay.ratePerSecond) * 1_000
    yield* letters.advance({ ...replay, after, failed, replayed }, isFinished ? undefined : pause)
  })

  const pass = Effect.fnUntraced(function* (report: Effect.Effect<void>) {
    const running = yield* letters.leaseReplays(replaysAtOnce)
    yield* jobs.each(running, advance, { advance: report })
    const scheduled = yield* letters.leaseScheduled(scheduledAtOnce)
    yield* jobs.each(scheduled, ({ id, ...home }) => replayOne(home, id, { isRequested: false }), {
      advance: report
    })
  })
  return { pass }
})

export const task = leasedTask({ name: "events.replay", interval: sweepInterval }, make)
