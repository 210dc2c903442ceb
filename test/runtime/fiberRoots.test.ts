/** Fibers without a parent are not listed, and run as before. */
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { forgetFiberRoots } from "../../src/runtime/program/FiberRoots.js"

it("keeps no list of fibers without a parent", async () => {
  const gate = Effect.runSync(Deferred.make<number>())
  const listed = Effect.runFork(Deferred.await(gate))
  assert.include(Fiber.unsafeRoots(), listed)
  forgetFiberRoots()
  const fiber = Effect.runFork(Deferred.await(gate))
  assert.notInclude(Fiber.unsafeRoots(), fiber)
  Effect.runSync(Deferred.succeed(gate, 7))
  assert.deepStrictEqual(await Effect.runPromise(Effect.all([Fiber.join(listed), Fiber.join(fiber)])), [7, 7])
  assert.notInclude(Fiber.unsafeRoots(), listed)
})
