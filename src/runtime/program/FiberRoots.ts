/** Fibers without a parent, as Effect lists them. */
import { globalValue } from "effect/GlobalValue"

/** Effect's own object: it adds each fiber without a parent to a `Set` that only `Fiber.roots` reads. */
const scope = globalValue(
  Symbol.for("effect/FiberScope/Global"),
  (): { add: (...fiber: ReadonlyArray<unknown>) => void } => {
    throw new Error("effect keeps its scope of fibers without a parent in another place")
  }
)

/**
 * Ends Effect's list of fibers without a parent. Each request is one, and the `Set` would keep fibers that have ended, with
 * all that they did, from the collector of young objects (`BriefMap`). A fiber that waits is held by what it waits for.
 */
export const forgetFiberRoots = (): void => {
  scope.add = () => undefined
}
