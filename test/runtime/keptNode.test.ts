/** A node's successor that is late is waited for, and one that ends leaves the process that runs. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, TestClock } from "effect"
import { keep } from "../../src/runtime/supervisor/KeptNode.js"
import type { NodeEnd, NodeProcess } from "../../src/runtime/supervisor/NodeProcess.js"

/** A process that takes part, and ends, when a test says so. */
const makeProcess = Effect.gen(function* () {
  const ready = yield* Deferred.make<void>()
  const ended = yield* Deferred.make<NodeEnd>()
  let readySince: number | undefined
  const end = Deferred.succeed(ended, { code: 0, signal: null })
  const process: NodeProcess = {
    pid: 1,
    readySince: () => readySince,
    ready: Deferred.await(ready),
    ended: Deferred.await(ended),
    retire: Effect.asVoid(end),
    stop: () => Effect.asVoid(end)
  }
  const takePart = Effect.zipRight(
    Effect.sync(() => (readySince = 1)),
    Deferred.succeed(ready, undefined)
  )
  return { process, takePart, end, hasEnded: Deferred.isDone(ended) }
})

const makeKept = Effect.gen(function* () {
  const [first, second] = [yield* makeProcess, yield* makeProcess]
  const left = [first, second]
  const kept = yield* keep(
    { name: "runner-1", role: "runner" },
    Effect.sync(() => (left.shift() ?? assert.fail()).process)
  )
  yield* first.takePart
  yield* kept.ready
  return { kept, first, second }
})

describe("the successor of a node", () => {
  it.scoped("is waited for while it is late, and who asked is told", () =>
    Effect.gen(function* () {
      const { first, kept, second } = yield* makeKept
      const told: Array<string> = []
      const replacing = yield* Effect.fork(kept.replace((what) => void told.push(what)))
      yield* TestClock.adjust("5 minutes")
      assert.lengthOf(told, 10)
      assert.isFalse(yield* first.hasEnded)
      yield* second.takePart
      yield* Fiber.join(replacing)
      assert.isTrue(yield* first.hasEnded)
    })
  )

  it.scoped("leaves the process that runs if it ends", () =>
    Effect.gen(function* () {
      const { first, kept, second } = yield* makeKept
      const replacing = yield* Effect.fork(Effect.flip(kept.replace(() => undefined)))
      yield* TestClock.adjust("1 second")
      yield* second.end
      assert.include((yield* Fiber.join(replacing)).message, "The new runner-1 did not start")
      assert.isFalse(yield* first.hasEnded)
    })
  )
})
