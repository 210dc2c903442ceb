/** The sessions of `svc.db` over all nodes are those of an account, whichever of its organisations uses them. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { Ownership } from "../../src/actors/ports/Ownership.js"
import { workspaceDb } from "../../src/domain/Limits.js"
import { layer as sharedSessions, SharedSessions } from "../../src/runtime/workspace/SharedSessions.js"
import { organisationActor } from "../support/organisationActor.js"
import { ownershipOf } from "../support/ownership.js"
import { ownerOf } from "../support/shareOwners.js"

interface Asked {
  readonly wanted: number
}

describe("the sessions of svc.db over all nodes", () => {
  it.live("are asked for by account, which has those of one organisation for all of its own", () => {
    const asked = new Set<string>()
    const actor = (id: string) => ({
      HoldPlaces: ({ wanted }: Asked) =>
        Effect.sync(() => {
          asked.add(id)
          return { held: wanted }
        })
    })
    const node = Layer.succeed(Ownership, ownershipOf({ seat: () => "seat", nodes: () => 2, isAlone: false }))
    return Effect.gen(function* () {
      const sessions = yield* SharedSessions
      const [one, two] = [ownerOf("one", "parent"), ownerOf("two", "parent")]
      const most = workspaceDb.connectionsPerAccount
      const held = yield* Effect.forEach(Array.from({ length: most }), (_, n) =>
        sessions.acquire(n % 2 === 0 ? one : two)
      )
      const waiting = yield* Effect.fork(sessions.acquire(two))
      yield* sessions.acquire(ownerOf("neighbour"))
      assert.isNull(waiting.unsafePoll(), "the account has no further one")
      for (const release of held) release()
      yield* Fiber.join(waiting)
      assert.deepStrictEqual([...asked], ["parent", "neighbour"])
    }).pipe(Effect.provide(sharedSessions.pipe(Layer.provide(Layer.mergeAll(organisationActor(actor as never), node)))))
  })
})
