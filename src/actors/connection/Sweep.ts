/**
 * Finds connections of this node's shards whose token is due or has ended, whose connect session was not completed, or
 * whose customer was deleted, and sends the matching command to their actors.
 */
import { Duration, Effect, Layer } from "effect"
import type { Unavailable } from "../../domain/Failure.js"
import { ConnectionSweeps, type DueConnection } from "../ports/ConnectionSweeps.js"
import { Ownership } from "../ports/Ownership.js"
import { backgroundTask, type BackgroundTask } from "../BackgroundTask.js"
import { makeStoredJobs } from "../StoredJobs.js"
import { makeActorClient } from "./ActorClient.js"
import { system } from "./ConnectionOwner.js"
import { Connection } from "./Protocol.js"

const sweepInterval = Duration.seconds(5)
/** Not urgent: expired sessions and old records. */
const tidyInterval = Duration.minutes(1)
const batch = 200
const concurrentCommands = 8
/** A refresh may wait for a dead owner's request and then take as long itself. */
const commandTimeout = Duration.seconds(60)

export const make = Effect.gen(function* () {
  const sweeps = yield* ConnectionSweeps
  const ownership = yield* Ownership
  const actor = yield* Connection.client
  const client = (id: string) => makeActorClient(actor(id))

  const jobs = yield* makeStoredJobs("connections.renew", ({ id, organisationId }: DueConnection) => ({
    id,
    organisationId
  }))

  const askEach = (
    advance: Effect.Effect<void>,
    found: (limit: number) => Effect.Effect<ReadonlyArray<DueConnection>, Unavailable>,
    ask: (due: DueConnection) => Effect.Effect<unknown, unknown>
  ) =>
    Effect.flatMap(found(batch), (all) =>
      jobs.each(
        all.filter(({ id }) => ownership.owns(ownership.shardOf(id))),
        (due) => Effect.timeout(ask(due), commandTimeout),
        { concurrency: concurrentCommands, advance }
      )
    )

  const sweepConnections = Effect.fnUntraced(function* (advance: Effect.Effect<void>) {
    yield* askEach(advance, sweeps.findToDisconnect, ({ id, organisationId }) =>
      client(id).disconnect({ organisationId, by: system, version: null })
    )
    yield* askEach(advance, sweeps.findToAbandon, ({ id, organisationId }) => client(id).abandon({ organisationId }))
    yield* askEach(advance, sweeps.findToRenew, ({ id, organisationId }) => client(id).checkDue({ organisationId }))
  })

  const renewing = yield* backgroundTask("connections.renew", sweepConnections)
  const tidying = yield* backgroundTask("connections.tidy", sweeps.tidy)
  const repeat = (task: BackgroundTask, pause: Duration.Duration) =>
    Effect.forever(Effect.zipRight(task.run, Effect.sleep(pause)))

  const sweep = Effect.all([repeat(renewing, sweepInterval), repeat(tidying, tidyInterval)], {
    concurrency: "unbounded",
    discard: true
  })

  return { sweepOnce: sweepConnections(Effect.void), sweep }
})

export const layer = Layer.scopedDiscard(
  Effect.flatMap(make, ({ sweep }) => Effect.forkScoped(Effect.interruptible(sweep)))
)
