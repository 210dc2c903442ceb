/**
 * Makes the process's `Clock` follow Postgres' clock. SQL compares deadlines, expiries and leases with Postgres' time,
 * so the times that this process writes must be of the same clock.
 */
import { Clock, Duration, Effect, Layer, Schedule } from "effect"
import { backgroundTask } from "../../actors/BackgroundTask.js"
import { Runs } from "../../actors/ports/Runs.js"

/** How often the offset is measured. */
const interval = Duration.seconds(30)
/** A smaller offset is noise of the network, not a difference of the clocks. */
const tolerance = Duration.millis(5)
const samples = 5

interface CorrectedClock extends Clock.Clock {
  /** Sets how many milliseconds it is ahead of the clock that it corrects. */
  readonly correct: (ahead: number) => void
}

/** The time of another clock, moved by the correction. Sleeps are not affected. */
const correctedClock = (base: Clock.Clock): CorrectedClock => {
  let ahead = 0
  const millis = () => base.unsafeCurrentTimeMillis() + ahead
  const nanos = () => base.unsafeCurrentTimeNanos() + BigInt(ahead) * 1_000_000n
  return {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: millis,
    currentTimeMillis: Effect.sync(millis),
    unsafeCurrentTimeNanos: nanos,
    currentTimeNanos: Effect.sync(nanos),
    sleep: (duration) => base.sleep(duration),
    correct: (millis) => {
      ahead = Math.round(millis)
    }
  }
}

/** The median of a few samples: a single slow response would look like an offset. */
const measureOffset = Effect.gen(function* () {
  const runs = yield* Runs
  const offsets = yield* Effect.replicateEffect(runs.clockOffset, samples)
  return offsets.sort((a, b) => a - b)[Math.floor(samples / 2)] ?? 0
})

/** Everything that is built on this layer uses Postgres' time. */
export const layer = Layer.unwrapScoped(
  Effect.gen(function* () {
    const clock = correctedClock(yield* Effect.clock)
    let lastAhead = 0
    const correctClock = Effect.gen(function* () {
      const offset = yield* measureOffset
      const ahead = Math.abs(offset) > Duration.toMillis(tolerance) ? Math.round(offset) : 0
      clock.correct(ahead)
      if (Math.abs(ahead - lastAhead) > 1_000)
        yield* Effect.annotateLogs(Effect.logWarning("clock.differs_from_postgres"), {
          postgresAheadMillis: ahead,
          remedy: "set the clock of one of the two machines right"
        })
      lastAhead = ahead
    })
    const task = yield* backgroundTask("clock.correct", correctClock)
    // The task's reports use the corrected clock, as everything above this layer does.
    const pass = Effect.withClock(task.run, clock)
    yield* pass
    yield* Effect.forkScoped(Effect.schedule(pass, Schedule.spaced(interval)))
    return Layer.setClock(clock)
  })
)
