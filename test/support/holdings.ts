/** Memory for answers without end, for tests of something else. */
import { Effect } from "effect"
import { AnswerHolding, type Holding } from "../../src/actors/ports/HeldBytes.js"

export const endlessHolding: Holding = {
  bytes: 0,
  tryTake: () => true,
  take: (_, done) => {
    done(undefined)
    return () => undefined
  },
  give: () => undefined,
  release: () => undefined
}

export const withEndlessMemory = Effect.provideService(AnswerHolding, endlessHolding)
