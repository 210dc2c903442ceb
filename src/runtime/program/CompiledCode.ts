/**
 * Keeps V8's compiled code of this process in the data directory, once for each build: it contains the functions that a
 * start and a run use, so that the next start does not compile them.
 */
import { Effect, type Scope } from "effect"
import { LiveRuns } from "../../actors/execution/LiveRuns.js"
import { Settings } from "../configuration/Config.js"
import { reasonOf } from "../process/OperatorError.js"

/** Writes the compiled code into the data directory. Holds the event loop for about 0.2 s; throws the file system's error. */
export type KeepCompiled = (dataDir: string) => void

/** How often a moment without runs is looked for. */
const interval = "1 second"

/** Calls `keep` once: when a run has ended and none is driven; at the latest when the scope closes. */
export const keepCompiledCode = (keep: KeepCompiled): Effect.Effect<void, never, LiveRuns | Settings | Scope.Scope> =>
  Effect.gen(function* () {
    const live = yield* LiveRuns
    const { dataDir } = yield* Settings
    let isPending = true
    const keepOnce = Effect.suspend(() => {
      if (!isPending || !live.hasEnded()) return Effect.void
      isPending = false
      return Effect.try(() => keep(dataDir)).pipe(
        Effect.catchAll(({ error }) =>
          Effect.annotateLogs(Effect.logInfo("service.compiled_code_not_kept"), { reason: reasonOf(error) })
        )
      )
    })
    const keepWhenIdle = Effect.suspend(() => (live.size() === 0 ? keepOnce : Effect.void)).pipe(
      Effect.delay(interval),
      Effect.repeat({ while: () => isPending })
    )
    yield* Effect.addFinalizer(() => keepOnce)
    yield* Effect.forkScoped(Effect.interruptible(keepWhenIdle))
  })
