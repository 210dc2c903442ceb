/** Does long work in slices, between which the node serves others. */
import { Effect } from "effect"
import type { MapCost, Sliced } from "../domain/mapping/MapCost.js"
import { invalid, type ValidationFailed } from "../domain/Failure.js"
import { maxValues } from "../domain/mapping/MapCost.js"

/** A turn of the event loop. */
export const turn: Effect.Effect<void> = Effect.async((resume) => {
  const handle = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(handle))
})

/** Runs the work to its end. */
export const inSlices = <A>(work: Sliced<A>): Effect.Effect<A> =>
  Effect.suspend(() => {
    const next = work.next()
    return next.done === true ? Effect.succeed(next.value) : Effect.zipRight(turn, inSlices(work))
  })

/** Fails if the work was stopped, since it would have taken too long. */
export const checkCost = (cost: MapCost): Effect.Effect<void, ValidationFailed> =>
  cost.isExceeded
    ? Effect.fail(
        invalid(
          "page_size",
          "OUT_OF_RANGE",
          `asks for records whose map moves more than ${maxValues} values: ask for fewer records, or drop pairs of the map`
        )
      )
    : Effect.void
