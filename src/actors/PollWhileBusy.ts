/** A look that is repeated while there is something to look after, and costs nothing while there is nothing. */
import { type Duration, Effect, type Scope } from "effect"

/**
 * Looks each `interval` until the scope closes; `look` answers whether anything is left. The function that is given back
 * says that there is something again; the next look is one interval later.
 */
export const pollWhileBusy = (
  interval: Duration.DurationInput,
  look: Effect.Effect<boolean>
): Effect.Effect<() => void, never, Scope.Scope> =>
  Effect.suspend(() => {
    const some = Effect.unsafeMakeLatch(false)
    const round = Effect.suspend(() => {
      // Before the look: what turns up while it is under way is not forgotten.
      some.unsafeClose()
      return Effect.map(look, (left) => {
        if (left) some.unsafeOpen()
      })
    })
    return Effect.as(
      round.pipe(Effect.delay(interval), some.whenOpen, Effect.forever, Effect.interruptible, Effect.forkScoped),
      () => {
        some.unsafeOpen()
      }
    )
  })
