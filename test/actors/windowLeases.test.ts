/** The calls that a node leases of a window: none is refused while this node gives others back. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Option, TestClock } from "effect"
import { makeWindowLeases, type TakenTokens } from "../../src/actors/organisation/WindowLeases.js"
import type { OrganisationId } from "../../src/domain/Ids.js"
import { organisationActor } from "../support/organisationActor.js"

const organisation = "org_1" as OrganisationId
const day = { millis: 86_400_000, maxLease: 20 }
const bucket = { name: "starts", limit: 20 }

/** A node, and the organisation's counter, which takes calls back only when `mayReturn` is done. */
const makeNode = (mayReturn: Effect.Effect<void>) =>
  Effect.gen(function* () {
    const counter = { granted: 0, returned: 0 }
    const owner = () => ({
      LeaseCalls: ({ limit, most }: { readonly limit: number; readonly most: number }) =>
        Effect.sync(() => {
          const granted = Math.min(most, limit - counter.granted)
          counter.granted += granted
          return { granted, left: limit - counter.granted }
        }),
      GiveBack: ({ calls }: { readonly calls: number }) =>
        Effect.zipRight(
          mayReturn,
          Effect.sync(() => {
            counter.granted -= calls
            counter.returned += calls
          })
        )
    })
    const leases = yield* makeWindowLeases.pipe(Effect.provide(organisationActor(owner)))
    const start = Effect.map(leases.takeAll(organisation, [bucket], day), (taken) => ({
      isAccepted: taken.exhausted === undefined,
      taken
    }))
    return { counter, leases, start }
  })

describe("the calls of a window that a node has leased", () => {
  it.scoped("are given back when they are not used, and a start meanwhile waits for them", () =>
    Effect.gen(function* () {
      const returned = yield* Deferred.make<void>()
      const { counter, start } = yield* makeNode(Deferred.await(returned))
      assert.isTrue((yield* start).isAccepted)
      assert.strictEqual(counter.granted, bucket.limit)
      // The lease has expired, and the others are on their way.
      yield* TestClock.adjust("400 millis")
      const waiting = yield* Effect.fork(start)
      yield* TestClock.adjust("10 millis")
      assert.isTrue(Option.isNone(yield* Fiber.poll(waiting)))
      yield* Deferred.succeed(returned, undefined)
      assert.isTrue((yield* Fiber.join(waiting)).isAccepted)
      assert.deepStrictEqual(counter, { granted: bucket.limit, returned: bucket.limit - 1 })
    })
  )

  it.scoped("are all used before a start is refused", () =>
    Effect.gen(function* () {
      const { leases, start } = yield* makeNode(Effect.void)
      const all = yield* Effect.replicateEffect(start, bucket.limit)
      assert.isTrue(all.every(({ isAccepted }) => isAccepted))
      assert.isFalse((yield* start).isAccepted)
      const restored: TakenTokens["leases"] = all[0]?.taken.leases ?? assert.fail()
      leases.restoreTokens(restored)
      assert.isTrue((yield* start).isAccepted)
    })
  )
})
