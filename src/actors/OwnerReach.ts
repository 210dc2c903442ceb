/**
 * Bounds the wait for an owner on another node that cannot be reached: the owner's node is asked meanwhile whether it answers,
 * by a message that takes the same way. Work that an owner has in hand may take as long as its own limit.
 */
import { Data, Duration, Effect, Schedule } from "effect"
import { Ownership } from "./ports/Ownership.js"
import { Shard } from "./shard/Protocol.js"

/** Until the first question, and from an answer to the next question. */
const askInterval = Duration.seconds(2)
/** Until an owner that does not answer is out of reach. The shards of a node that was frozen or killed have moved by then. */
const patience = Duration.seconds(10)
/** Until a question is repeated that failed, for example as its node ended. */
const askAgain = Duration.millis(200)

/** The owner did not answer a question for ten seconds. Whether it got the message is not known. */
export class OwnerUnreachable extends Data.TaggedError("OwnerUnreachable") {}

/** Makes the function that waits for an answer of the owner of `id`, 14 s at most if that cannot be reached. */
export const makeOwnerReach = Effect.gen(function* () {
  const ownership = yield* Ownership
  const shard = yield* Shard.client

  const ask = (id: string) =>
    Effect.suspend(() => (ownership.owns(ownership.shardOf(id)) ? Effect.void : shard(id).Ask())).pipe(
      Effect.sandbox,
      Effect.retry(Schedule.spaced(askAgain)),
      Effect.timeout(patience),
      Effect.mapError(() => new OwnerUnreachable())
    )
  const watch = (id: string) => Effect.forever(Effect.delay(ask(id), askInterval))

  return <A, E, R>(id: string, answer: Effect.Effect<A, E, R>): Effect.Effect<A, E | OwnerUnreachable, R> =>
    Effect.raceFirst(answer, watch(id))
})
