/** Giving up the shards of a node keeps nothing else of it waiting. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Runtime } from "effect"
import { SlicedScheduler } from "../../src/runtime/cluster/SlicedScheduler.js"

const spin = (millis: number) => {
  const until = Date.now() + millis
  while (Date.now() < until);
}

describe("The scheduler of the sharding", () => {
  it("runs all fibers in their order, and lets the event loop go on between them", async () => {
    const runFork = Runtime.runFork(Runtime.defaultRuntime)
    const scheduler = new SlicedScheduler()
    const order: Array<number> = []
    let turns = 0
    const count = () => {
      turns++
      handle = setImmediate(count)
    }
    let handle = setImmediate(count)
    const fibers = Array.from({ length: 100 }, (_, n) =>
      runFork(
        Effect.zipRight(
          Effect.yieldNow(),
          Effect.sync(() => (spin(1), order.push(n)))
        ),
        { scheduler }
      )
    )
    const exit = await Effect.runPromiseExit(Fiber.joinAll(fibers))
    clearImmediate(handle)
    assert.isTrue(Exit.isSuccess(exit))
    assert.deepStrictEqual(order, [...fibers.keys()])
    // Five tasks of a millisecond in a slice; by the default scheduler there would be no turn between them.
    assert.isAtLeast(turns, 15)
  })

  it("goes on with what is scheduled after it was idle", async () => {
    const scheduler = new SlicedScheduler()
    for (let n = 0; n < 3; n++) {
      const slept = Effect.withScheduler(Effect.as(Effect.sleep(2), n), scheduler)
      assert.strictEqual(await Effect.runPromise(slept), n)
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
  })
})
