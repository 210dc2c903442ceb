/**
 * Nobody renews what nobody uses unless we do: each node looks for the connections of its shards whose token is to be
 * renewed or has ended, whose session nobody completed, or whose customer is gone.
 */
import { Duration, Effect, Layer } from "effect"
import type { Unavailable } from "../../domain/Failure.js"
import { ConnectionSweeps, type Due } from "../ports/ConnectionSweeps.js"
import { Ownership } from "../ports/Ownership.js"
import { asking } from "./Asking.js"
import { system } from "./Owner.js"
import { Connection } from "./Protocol.js"

const interval = Duration.seconds(5)
/** Nothing waits for what is tidied up. */
const tidyEvery = Duration.minutes(1)
const batch = 200
const atOnce = 8
/** A refresh may wait for a dead owner's request and then take as long itself. */
const patience = Duration.seconds(60)

export const make = Effect.gen(function* () {
  const sweeps = yield* ConnectionSweeps
  const ownership = yield* Ownership
  const actor = yield* Connection.client
  const client = (id: string) => asking(actor(id))

  const each = (
    found: (limit: number) => Effect.Effect<ReadonlyArray<Due>, Unavailable>,
    ask: (due: Due) => Effect.Effect<unknown, unknown>
  ) =>
    Effect.flatMap(found(batch), (all) =>
      Effect.forEach(
        all.filter(({ id }) => ownership.holds(ownership.shardOf(id))),
        // What cannot be done now is found again.
        (due) => ask(due).pipe(Effect.timeout(patience), Effect.sandbox, Effect.ignoreLogged),
        { concurrency: atOnce, discard: true }
      )
    )

  const look = Effect.gen(function* () {
    yield* each(sweeps.toDisconnect, ({ id, organisationId }) =>
      client(id).disconnect({ organisationId, by: system, version: null })
    )
    yield* each(sweeps.toAbandon, ({ id, organisationId }) => client(id).abandon({ organisationId }))
    yield* each(sweeps.toRenew, ({ id, organisationId }) => client(id).look({ organisationId }))
  })

  const again = (body: Effect.Effect<void, Unavailable>, pause: Duration.Duration) =>
    body.pipe(
      Effect.sandbox,
      Effect.catchAll((cause) => Effect.logWarning("Looking after connections failed; it is tried again", cause)),
      Effect.zipRight(Effect.sleep(pause)),
      Effect.forever
    )

  const sweep = Effect.all([again(look, interval), again(sweeps.tidy, tidyEvery)], {
    concurrency: "unbounded",
    discard: true
  })

  return { look, sweep }
})

export const layer = Layer.scopedDiscard(
  Effect.flatMap(make, ({ sweep }) => Effect.forkScoped(Effect.interruptible(sweep)))
)
