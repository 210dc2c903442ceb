/**
 * Finds connections of this node's shards whose token is due or has ended, whose connect session was not completed, or
 * whose customer was deleted, and sends the matching command to their actors.
 */
import { Clock, Duration, Effect } from "effect"
import { outwardPlaces } from "../../domain/Limits.js"
import { ConnectionSweeps } from "../ports/connection/ConnectionSweeps.js"
import type { DueWork, FindWork } from "../ports/LeasedWork.js"
import { backgroundTask, repeatEvery } from "../BackgroundTask.js"
import { leasedTask, type SweepTools } from "../LeasedWork.js"
import { makeActorClient } from "./ActorClient.js"
import { system } from "./ConnectionOwner.js"
import { Connection } from "./Protocol.js"

const sweepInterval = Duration.seconds(5)
/** Not urgent: expired sessions and old records. */
const tidyInterval = Duration.minutes(1)
/** A refresh may wait for a dead owner's request and then take as long itself. */
const commandTimeout = Duration.seconds(60)

const make = Effect.fnUntraced(function* ({ placed }: SweepTools<"refreshes">) {
  const sweeps = yield* ConnectionSweeps
  const actor = yield* Connection.client
  const client = (id: string) => makeActorClient(actor(id))

  /** When connections were last asked. One that stays due, whatever it answers, is asked again after the interval. */
  const askedAt = new Map<string, number>()
  const recentlyAsked = Effect.map(Clock.currentTimeMillis, (now) => {
    for (const [id, at] of askedAt) if (now - at >= Duration.toMillis(sweepInterval)) askedAt.delete(id)
    return [...askedAt.keys()]
  })

  /** A connection has one place, so nothing is found that this node asks now. */
  const makeAsking = (find: FindWork, ask: (due: DueWork) => Effect.Effect<unknown, unknown>) =>
    placed("refreshes", {
      work: {
        find: (room) =>
          Effect.flatMap(recentlyAsked, (recent) =>
            find({ ...room, closedPartners: [...room.closedPartners, ...recent] })
          ),
        lease: (due) =>
          Effect.map(Clock.currentTimeMillis, (now) => {
            for (const { id } of due) askedAt.set(id, now)
            return due
          })
      },
      run: (due) => Effect.timeout(ask(due), commandTimeout)
    })

  const disconnectDue = yield* makeAsking(sweeps.findToDisconnect, ({ id, organisationId }) =>
    client(id).disconnect({ organisationId, by: system, version: null })
  )
  const abandonDue = yield* makeAsking(sweeps.findToAbandon, ({ id, organisationId }) =>
    client(id).abandon({ organisationId })
  )
  const renewDue = yield* makeAsking(sweeps.findToRenew, ({ id, organisationId }) =>
    client(id).checkDue({ organisationId })
  )
  const tidying = yield* backgroundTask("connections.tidy", sweeps.tidy)
  yield* repeatEvery(tidyInterval, tidying.run)
  return { pass: Effect.all([disconnectDue, abandonDue, renewDue], { discard: true }) }
})

export const task = leasedTask(
  {
    name: "connections.renew",
    interval: sweepInterval,
    isOfShards: true,
    places: { refreshes: outwardPlaces.refreshes }
  },
  make
)
