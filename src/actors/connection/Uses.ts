/** When connections of this node were used last: noted at once, written now and then. */
import { Clock, Context, Duration, Effect, Layer } from "effect"
import type { ConnectionId } from "../../domain/Ids.js"
import { ConnectionSweeps } from "../ports/ConnectionSweeps.js"

const writeInterval = Duration.seconds(2)

export class Uses extends Context.Tag("svc/connection/Uses")<
  Uses,
  { readonly note: (id: ConnectionId) => Effect.Effect<void> }
>() {}

export const layer = Layer.scoped(
  Uses,
  Effect.gen(function* () {
    const sweeps = yield* ConnectionSweeps
    let uses = new Map<ConnectionId, number>()
    const write = Effect.suspend(() => {
      if (uses.size === 0) return Effect.void
      const noted = uses
      uses = new Map()
      return sweeps.used(new Map([...noted].map(([id, at]) => [id, new Date(at).toISOString()])))
    }).pipe(Effect.catchAll(({ reason }) => Effect.logWarning(`Noting the use of connections failed: ${reason}`)))
    yield* write.pipe(Effect.delay(writeInterval), Effect.forever, Effect.interruptible, Effect.forkScoped)
    yield* Effect.addFinalizer(() => write)
    return Uses.of({
      note: (id) =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          uses.set(id, now)
        })
    })
  })
)
