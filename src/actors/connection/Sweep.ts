/**
 * Nobody renews what nobody uses unless we do: each node looks for the connections of its shards whose token is to be
 * renewed or has ended, whose session nobody completed, or whose customer is gone.
 */
import { Duration, Effect, Layer } from "effect"
import type { Unavailable } from "../../domain/Failure.js"
import { ConnectionSweeps, type Due } from "../ports/ConnectionSweeps.js"
import { Ownership } from "../ports/Ownership.js"
import { backgroundTask, type BackgroundTask } from "../BackgroundTask.js"
import { makeActorClient } from "./ActorClient.js"
import { system } from "./ConnectionOwner.js"
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
  const client = (id: string) => makeActorClient(actor(id))

  const each = (
    advance: Effect.Effect<void>,
    found: (limit: number) => Effect.Effect<ReadonlyArray<Due>, Unavailable>,
    ask: (due: Due) => Effect.Effect<unknown, unknown>
  ) =>
    Effect.flatMap(found(batch), (all) =>
      Effect.forEach(
        all.filter(({ id }) => ownership.owns(ownership.shardOf(id))),
        // What cannot be done now is found again.
        (due) => ask(due).pipe(Effect.timeout(patience), Effect.sandbox, Effect.ignoreLogged, Effect.zipRight(advance)),
        { concurrency: atOnce, discard: true }
      )
    )

  const lookAt = Effect.fnUntraced(function* (advance: Effect.Effect<void>) {
    yield* each(advance, sweeps.toDisconnect, ({ id, organisationId }) =>
      client(id).disconnect({ organisationId, by: system, version: null })
    )
    yield* each(advance, sweeps.toAbandon, ({ id, organisationId }) => client(id).abandon({ organisationId }))
    yield* each(advance, sweeps.toRenew, ({ id, organisationId }) => client(id).look({ organisationId }))
  })

  const renewing = yield* backgroundTask("connections.renew", lookAt)
  const tidying = yield* backgroundTask("connections.tidy", sweeps.tidy)
  const again = (task: BackgroundTask, pause: Duration.Duration) =>
    Effect.forever(Effect.zipRight(task.run, Effect.sleep(pause)))

  const sweep = Effect.all([again(renewing, interval), again(tidying, tidyEvery)], {
    concurrency: "unbounded",
    discard: true
  })

  return { look: lookAt(Effect.void), sweep }
})

export const layer = Layer.scopedDiscard(
  Effect.flatMap(make, ({ sweep }) => Effect.forkScoped(Effect.interruptible(sweep)))
)
