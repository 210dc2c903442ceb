/**
 * The phases of a start, as marks on the process's performance timeline, which begins with the process. `svc start` logs
 * them at the level debug, and the bench of starts shows them.
 */
import { Effect, Layer } from "effect"
import { performance } from "node:perf_hooks"

const prefix = "svc.start."

/** Marks the end of a phase. */
export const markPhase = (name: string): Effect.Effect<void> =>
  Effect.sync(() => void performance.mark(`${prefix}${name}`))

/** Marks the phase's end when the layer is built. */
export const asPhase =
  (name: string) =>
  <A, E, R>(layer: Layer.Layer<A, E, R>): Layer.Layer<A, E, R> =>
    Layer.tap(layer, () => markPhase(name))

/** When each phase ended, in milliseconds since the process began; forgets them. */
export const takePhases = (): Readonly<Record<string, number>> => {
  const marks = performance.getEntriesByType("mark").filter(({ name }) => name.startsWith(prefix))
  for (const { name } of marks) performance.clearMarks(name)
  return Object.fromEntries(marks.map(({ name, startTime }) => [name.slice(prefix.length), Math.round(startTime)]))
}
