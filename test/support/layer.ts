/**
 * `layer` of @effect/vitest, which stores the testers of a layer in vitest's own `it` and leaves them there: the later
 * tests of the worker, also those of other files, would run on a layer that is closed. This one restores `it`.
 */
import * as Vitest from "@effect/vitest"
import type { Duration, Layer } from "effect"

const { effect, scoped, prop, flakyTest } = Vitest

/** The methods of `it` that @effect/vitest replaces, as they are without a layer. */
export const methodsOfIt = { effect, scoped, prop, flakyTest, layer: Vitest.layer }

type Testers<R> = Pick<Vitest.Vitest.MethodsNonLive<R, true>, "effect" | "scoped">
type Tests<R> = (it: Testers<R>) => void

/** Tests that share a layer, which is built before them and released after them. */
export const layer = <R, E>(
  shared: Layer.Layer<R, E>,
  options: { readonly excludeTestServices: true; readonly timeout?: Duration.DurationInput }
): { (tests: Tests<R>): void; (name: string, tests: Tests<R>): void } => {
  const register = Vitest.layer(shared, options)
  const restored =
    (tests: Tests<R>): Tests<R> =>
    (it) => {
      const testers = { effect: it.effect, scoped: it.scoped }
      Object.assign(Vitest.it, methodsOfIt)
      tests(testers)
    }
  return (...args: [Tests<R>] | [string, Tests<R>]) =>
    args.length === 1 ? register(restored(args[0])) : register(args[0], restored(args[1]))
}
