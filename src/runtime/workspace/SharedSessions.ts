/**
 * The sessions of `svc.db` that an account uses at once, over all nodes together. On a node the turns decide who is
 * next; in a cluster the one whose turn it is also needs a place, and waits for it as for its turn.
 */
import { Context, Effect, Layer } from "effect"
import { makePlaceLeases } from "../../actors/PlaceLeases.js"
import type { DbRefused } from "../../actors/ports/run/WorkspaceDb.js"
import type { OrganisationId } from "../../domain/Ids.js"
import { workspaceDb } from "../../domain/Limits.js"
import type { OrganisationOwner } from "../../domain/share/ShareOwner.js"
import { tooManyAtOnce } from "./Refusals.js"
import type { ReleaseTurn } from "./Turns.js"

export class SharedSessions extends Context.Tag("svc/workspace/SharedSessions")<
  SharedSessions,
  {
    /** Waits for a place, half a minute at most. */
    readonly acquire: (owner: OrganisationOwner) => Effect.Effect<ReleaseTurn, DbRefused>
  }
>() {}

const pause = "50 millis"

export const layer = Layer.scoped(
  SharedSessions,
  Effect.gen(function* () {
    const inUse = new Map<OrganisationId, number>()
    const places = yield* makePlaceLeases("db", () => inUse)
    const most = workspaceDb.connectionsPerAccount

    const add = (account: OrganisationId, by: number) => {
      const now = (inUse.get(account) ?? 0) + by
      if (now > 0) inUse.set(account, now)
      else inUse.delete(account)
    }
    const tryTake = (account: OrganisationId): ReleaseTurn | undefined => {
      if (!places.hasRoom(account, most)) return undefined
      add(account, 1)
      let isHeld = true
      return () => {
        if (isHeld) add(account, -1)
        isHeld = false
      }
    }
    const wait = Effect.fnUntraced(function* (account: OrganisationId) {
      for (;;) {
        // An owner that cannot be asked now is asked again.
        yield* Effect.ignore(places.makeRoom(account, most))
        const release = tryTake(account)
        if (release !== undefined) return release
        yield* Effect.sleep(pause)
      }
    })

    return SharedSessions.of({
      acquire: ({ account }) =>
        Effect.timeoutFail(wait(account), {
          duration: workspaceDb.waitMillis,
          onTimeout: () => tooManyAtOnce("waited too long")
        })
    })
  })
)
