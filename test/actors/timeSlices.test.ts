/**
 * Busy runs share the event loop: one slice per turn, organisations round-robin, also when waiting runs are
 * interrupted.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { SliceOrder } from "../../src/actors/execution/guest/TimeSlices.js"
import type { ShareOwner } from "../../src/domain/share/ShareOwner.js"
import { ownerOf } from "../support/shareOwners.js"

const [one, other] = [ownerOf("org_one"), ownerOf("org_other")]

describe("The slices of busy runs", () => {
  const world = Effect.map(Effect.clock, (clock) => {
    const order = new SliceOrder(clock)
    const begun: Array<string> = []
    const run = (name: string, owner: ShareOwner, slices: number) =>
      Effect.fork(
        Effect.gen(function* () {
          const own = order.of(owner)
          for (let nth = 1; nth <= slices; nth++) {
            yield* own.yield
            begun.push(`${name}${nth}`)
          }
        })
      )
    return { begun, run }
  })

  it.live("are granted round-robin by organisation, however many runs one has", () =>
    Effect.gen(function* () {
      const { begun, run } = yield* world
      const runs = [
        ...(yield* Effect.forEach(["a", "b", "c", "d"], (name) => run(name, one, 1))),
        yield* run("x", other, 1)
      ]
      yield* Fiber.joinAll(runs)
      assert.deepStrictEqual(begun, ["a1", "b1", "x1", "c1", "d1"])
    })
  )

  it.live("are granted to an account's organisations in turn, and to a neighbour as often as to all of them", () =>
    Effect.gen(function* () {
      const { begun, run } = yield* world
      const [first, second] = [ownerOf("first", "parent"), ownerOf("second", "parent")]
      const runs = [
        ...(yield* Effect.forEach(["a", "b", "c"], (name) => run(name, first, 1))),
        ...(yield* Effect.forEach(["d", "e"], (name) => run(name, second, 1))),
        ...(yield* Effect.forEach(["x", "y"], (name) => run(name, other, 1)))
      ]
      yield* Fiber.joinAll(runs)
      assert.deepStrictEqual(begun, ["a1", "b1", "x1", "d1", "y1", "c1", "e1"])
    })
  )

  it.live("continue to be granted when a run that waits, or is next, is interrupted", () =>
    Effect.gen(function* () {
      const { begun, run } = yield* world
      const given = [yield* run("a", one, 2), yield* run("b", one, 2), yield* run("c", other, 2)]
      const last = yield* run("d", one, 2)
      yield* Effect.yieldNow()
      for (const fiber of given) yield* Fiber.interrupt(fiber)
      yield* Fiber.join(last)
      assert.deepStrictEqual(begun, ["d1", "d2"])
    })
  )

  it.live("take as many steps as fit, and yield between slices", () =>
    Effect.gen(function* () {
      const slices = new SliceOrder(yield* Effect.clock).of(one)
      let [steps, beside] = [0, 0]
      const until = Date.now() + 60
      const work = function* () {
        while (Date.now() < until) {
          steps++
          yield
        }
      }
      const ticking = yield* Effect.fork(
        Effect.forever(
          Effect.zipRight(
            Effect.sleep(0),
            Effect.sync(() => void beside++)
          )
        )
      )
      yield* slices.through(work())
      yield* Fiber.interrupt(ticking)
      assert.isAbove(beside, 1)
      assert.isAbove(steps, beside)
    })
  )
})
