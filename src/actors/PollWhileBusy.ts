/** Polls while work is pending and stops when there is none. */
import { Clock, Duration, Effect } from "effect"

/**
 * Runs `poll` each `interval` while it returns that work is left, until the scope closes. The function that is returned
 * starts polling again; the first poll is one interval later.
 */
export const pollWhileBusy = (interval: Duration.DurationInput, poll: Effect.Effect<boolean>) =>
  Effect.suspend(() => {
    const pending = Effect.unsafeMakeLatch(false)
    const pass = Effect.suspend(() => {
      // Closed before the poll, so that a start during the poll is not lost.
      pending.unsafeClose()
      return Effect.map(poll, (isWorkLeft) => {
        if (isWorkLeft) pending.unsafeOpen()
      })
    })
    return Effect.as(
      pass.pipe(Effect.delay(interval), pending.whenOpen, Effect.forever, Effect.interruptible, Effect.forkScoped),
      () => {
        pending.unsafeOpen()
      }
    )
  })

/** When to poll: after `interval`, or sooner when woken, but not within `gap` of the poll before. */
export interface WakefulPace {
  readonly interval: Duration.Duration
  readonly gap: Duration.Duration
}

/** As `pollWhileBusy`, and polls at once when it is woken while work is pending. */
export const pollWhenWoken = ({ gap, interval }: WakefulPace, poll: Effect.Effect<boolean>) =>
  Effect.suspend(() => {
    const pending = Effect.unsafeMakeLatch(false)
    const woken = Effect.unsafeMakeLatch(false)
    const gapMillis = Duration.toMillis(gap)
    let last = -gapMillis
    const pause = Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const rest = Math.min(gapMillis, Math.max(0, last + gapMillis - now))
      const sleep = Effect.sleep(Duration.millis(rest))
      return Effect.zipRight(
        sleep,
        Effect.timeoutOption(woken.await, Duration.subtract(interval, Duration.millis(rest)))
      )
    })
    const pass = Effect.flatMap(Clock.currentTimeMillis, (now) => {
      last = now
      // Closed before the poll, so that a start or a commit during the poll is not lost.
      pending.unsafeClose()
      woken.unsafeClose()
      return Effect.map(poll, (isWorkLeft) => {
        if (isWorkLeft) pending.unsafeOpen()
      })
    })
    return Effect.as(
      Effect.zipRight(pause, pass).pipe(pending.whenOpen, Effect.forever, Effect.interruptible, Effect.forkScoped),
      {
        start: () => {
          pending.unsafeOpen()
        },
        wake: () => {
          woken.unsafeOpen()
        }
      }
    )
  })
