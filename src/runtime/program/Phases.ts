/**
 * The phases of a start and of a stop, as marks on the process's performance timeline, which begins with the process.
 * `svc start` logs them at the level debug, and the bench of starts shows them.
 */
import { Effect, Layer } from "effect"
import { performance } from "node:perf_hooks"

const prefix = "svc.start."
const stopPrefix = "svc.stop."

/** Marks the end of a phase. */
export const markPhase = (name: string): Effect.Effect<void> =>
  Effect.sync(() => void performance.mark(`${prefix}${name}`))

/** Marks the begin of the stop; a process stops once. */
export const markStop = (): void => void performance.mark(stopPrefix)

/** Marks the end of a phase of the stop. */
export const markStopPhase = (name: string): Effect.Effect<void> =>
  Effect.sync(() => void performance.mark(`${stopPrefix}${name}`))

/** Marks the phase's end when the layer is built, and the end of its phase of the stop when it is closed. */
export const asPhase =
  (name: string) =>
  <A, E, R>(layer: Layer.Layer<A, E, R>): Layer.Layer<A, E, R> =>
    Layer.tap(layer, () => markPhase(name)).pipe(
      // Built before the layer, and so closed after it.
      Layer.provide(Layer.scopedDiscard(Effect.addFinalizer(() => markStopPhase(name))))
    )

/** When each phase of the start ended, in milliseconds since the process began; forgets them. */
export const takePhases = (): Readonly<Record<string, number>> => {
  const marks = marksOf(prefix)
  for (const { name } of marks) performance.clearMarks(name)
  return Object.fromEntries(marks.map(({ name, startTime }) => [name.slice(prefix.length), Math.round(startTime)]))
}

/**
 * When each phase of the stop ended, and how long the stop takes by now, in milliseconds since it began; `undefined` if
 * the process ends by itself.
 */
export const stopPhases = () => {
  const [first, ...marks] = marksOf(stopPrefix)
  if (first?.name !== stopPrefix) return undefined
  const since = (at: number) => Math.round(at - first.startTime)
  const phases = marks.map(({ name, startTime }) => [name.slice(stopPrefix.length), since(startTime)] as const)
  return { afterMillis: since(performance.now()), phases: Object.fromEntries(phases) }
}

const marksOf = (start: string) => performance.getEntriesByType("mark").filter(({ name }) => name.startsWith(start))
