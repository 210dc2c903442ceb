/**
 * Makes the process's `Clock` follow Postgres' clock. SQL compares deadlines, expiries and leases with Postgres' time,
 * so the times that this process writes must be of the same clock.
 */
import { Clock, Context, DefaultServices, Duration, Effect, Layer, Queue } from "effect"
import { backgroundTask } from "../../../actors/BackgroundTask.js"
import { Runs } from "../../../actors/ports/run/Runs.js"

/** How often the offset is measured. */
const interval = Duration.seconds(30)
/** A smaller offset is noise of the network, not a difference of the clocks. */
const tolerance = Duration.millis(5)
const samples = 5

interface CorrectedClock extends Clock.Clock {
  /** Sets how many milliseconds it is ahead of the clock that it corrects. */
  readonly correct: (ahead: number) => void
}

/** A larger difference between two clocks of one machine is a jump of one of them. */
const jumpMillis = 1_000

/**
 * Finds jumps of a machine's clock, whose time is given, as when it is set: the time since the last call by the clock that nothing sets is the
 * true one. Also a machine that slept: that clock stood still, and the next measurement corrects both.
 */
const jumpsOf = (base: Clock.Clock): ((now: number) => number) => {
  // A test that moves its own clock means it.
  if (base !== Context.get(DefaultServices.liveServices, Clock.Clock)) return () => 0
  let difference = base.unsafeCurrentTimeMillis() - performance.now()
  return (now) => {
    const jumped = now - performance.now() - difference
    if (jumped < jumpMillis && jumped > -jumpMillis) return 0
    difference += jumped
    return jumped
  }
}

/**
 * The time of another clock, moved by the correction. Sleeps are not affected. A jump of the other clock is taken out
 * at once, and `jumped` is called, so that the correction is measured anew.
 */
const correctedClock = (base: Clock.Clock, jumped: () => void): CorrectedClock => {
  let ahead = 0
  const jumpSinceLastCall = jumpsOf(base)
  const millis = () => {
    const now = base.unsafeCurrentTimeMillis()
    const jump = jumpSinceLastCall(now)
    if (jump !== 0) {
      ahead -= Math.round(jump)
      jumped()
    }
    return now + ahead
  }
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

/** Of one sample if that is noise, else the median of a few: a single slow response would look like an offset. */
const measureOffset = Effect.gen(function* () {
  const runs = yield* Runs
  const first = yield* runs.clockOffset
  if (Math.abs(first) <= Duration.toMillis(tolerance)) return first
  const offsets = [first, ...(yield* Effect.replicateEffect(runs.clockOffset, samples - 1))]
  return offsets.sort((a, b) => a - b)[Math.floor(samples / 2)] ?? 0
})

/** Everything that is built on this layer uses Postgres' time. */
export const layer = Layer.unwrapScoped(
  Effect.gen(function* () {
    const jumps = yield* Queue.sliding<void>(1)
    const base = yield* Effect.clock
    const clock = correctedClock(base, () => jumps.unsafeOffer(undefined))
    let lastAhead = 0
    const correctClock = Effect.gen(function* () {
      // Of the clock that is corrected: the corrected one has none.
      const offset = yield* Effect.withClock(measureOffset, base)
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
    const next = Effect.raceFirst(Effect.sleep(interval), Queue.take(jumps))
    yield* Effect.forkScoped(Effect.forever(Effect.zipRight(next, pass)))
    return Layer.setClock(clock)
  })
)
