/** The organisation's actor for tests of what a node asks of it, which answer its messages themselves. */
import { Sharding } from "@effect/cluster"
import { assert } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { BackgroundTasks, makeRegistry } from "../../src/actors/ports/BackgroundTasks.js"

/** `owner`: the client of an organisation's actor, with the messages that are asked. */
export const organisationActor = (owner: () => object) =>
  Layer.merge(
    Layer.mock(Sharding.Sharding, {
      makeClient: () => Effect.succeed(owner as never),
      getShardId: () => assert.fail("not asked for"),
      hasShardId: () => true
    }),
    Layer.sync(BackgroundTasks, makeRegistry)
  )
