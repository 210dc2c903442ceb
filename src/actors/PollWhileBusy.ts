/** Polls while work is pending and stops when there is none. */
import { type Duration, Effect } from "effect"

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
