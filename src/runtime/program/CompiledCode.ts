/**
 * Keeps V8's compiled code of this process in the data directory, once for each build: it contains the functions that a
 * start and a run use, so that the next start does not compile them.
 */
import { Effect, Option, type Scope } from "effect"
import { LiveRuns } from "../../actors/execution/LiveRuns.js"
import type { ServiceConfig } from "../configuration/Config.js"
import { reasonOf } from "../process/OperatorError.js"

/** Writes the compiled code into the data directory. Holds the event loop for about 0.2 s; throws the file system's error. */
export type KeepCompiled = (dataDir: string) => void

/** How often a moment without runs is looked for. */
const interval = "1 second"

/**
 * Calls `keep` once after a run has ended: when the present scope closes, which is to close last, or before that when the
 * returned effect was run and no run is driven. A node of a cluster does only the former: others wait for its answers.
 */
export const keepCompiledCode = (
  keep: KeepCompiled,
  { dataDir, node }: Pick<ServiceConfig, "dataDir" | "node">
): Effect.Effect<Effect.Effect<void, never, LiveRuns | Scope.Scope>, never, Scope.Scope> =>
  Effect.gen(function* () {
    let live: LiveRuns["Type"] | undefined
    let isPending = true
    const keepOnce = Effect.suspend(() => {
      if (!isPending || live?.hasEnded() !== true) return Effect.void
      isPending = false
      return Effect.try(() => keep(dataDir)).pipe(
        Effect.catchAll(({ error }) =>
          Effect.annotateLogs(Effect.logInfo("service.compiled_code_not_kept"), { reason: reasonOf(error) })
        )
      )
    })
    yield* Effect.addFinalizer(() => keepOnce)
    return Effect.gen(function* () {
      const runs = yield* LiveRuns
      live = runs
      if (Option.isSome(node)) return
      const keepWhenIdle = Effect.suspend(() => (runs.size() === 0 ? keepOnce : Effect.void)).pipe(
        Effect.delay(interval),
        Effect.repeat({ while: () => isPending })
      )
      yield* Effect.forkScoped(Effect.interruptible(keepWhenIdle))
    })
  })
