/**
 * One time for all: the process tells Postgres' time. What is due, what has expired and whose lease has ended is
 * compared with Postgres' clock; what this process writes beside it must mean the same.
 */
import { Clock, Duration, Effect, Layer, Schedule } from "effect"
import { backgroundTask } from "../../actors/BackgroundTask.js"
import { Runs } from "../../actors/ports/Runs.js"

/** How often the offset is measured. */
const interval = Duration.seconds(30)
/** Below it the measurement tells more of the network than of the clocks. */
const tolerance = Duration.millis(5)
const samples = 5

interface CorrectedClock extends Clock.Clock {
  /** Milliseconds by which it is ahead of the clock that it corrects, from now on. */
  readonly correct: (ahead: number) => void
}

/** Tells another clock's time, moved by the correction. What sleeps on it sleeps as long as on the other. */
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

/** The median of a few: one slow answer would pass for an offset. */
const measureOffset = Effect.gen(function* () {
  const runs = yield* Runs
  const offsets = yield* Effect.replicateEffect(runs.clockOffset, samples)
  return offsets.sort((a, b) => a - b)[Math.floor(samples / 2)] ?? 0
})

/** Everything that is built on this layer goes by Postgres' time, from its start on. */
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
    // Its reports bear the time that everything above this layer goes by.
    const pass = Effect.withClock(task.run, clock)
    yield* pass
    yield* Effect.forkScoped(Effect.schedule(pass, Schedule.spaced(interval)))
    return Layer.setClock(clock)
  })
)
