/** Drives Instant runs at once on this node, for callers here and, by message, on other nodes. */
import { Effect } from "effect"
import { decide, evolve } from "../../domain/run/Execution.js"
import { TooManyRuns } from "../../domain/Failure.js"
import { hasRoom, isPlanFull } from "../../domain/run/StartPolicy.js"
import { LiveRuns } from "./LiveRuns.js"
import type { DriveOutcome, RunSpec } from "./RunSpec.js"
import type { DirectStart } from "./StartOrder.js"

/** How a start ended that was to be driven at once. */
export type DirectOutcome =
  | DriveOutcome
  /** Nothing was begun: this node runs as much as it can. */
  | { readonly _tag: "Full" }
  /** Nothing was begun: the run must wait in the queue. */
  | { readonly _tag: "MustWait" }

/** Makes the function that drives a run until it has ended or is suspended. `slots`: runs that this node drives at a time. */
export const makeDirectStart = (options: { readonly slots: number }) =>
  Effect.gen(function* () {
    const live = yield* LiveRuns
    const clock = yield* Effect.clock

    return ({ audit, claim, concurrentRuns, run, runnable, start }: DirectStart) =>
      Effect.suspend((): Effect.Effect<DirectOutcome, TooManyRuns> => {
        if (
          concurrentRuns !== null &&
          isPlanFull(live.countByOrganisation().get(run.organisationId) ?? 0, concurrentRuns)
        )
          return Effect.fail(new TooManyRuns({ limit: concurrentRuns }))
        if (!hasRoom("instant", live.size(), options.slots)) return Effect.succeed({ _tag: "Full" })
        const started = decide(run, { _tag: "Start", at: clock.unsafeCurrentTimeMillis() })
        if (started._tag !== "Started") return Effect.succeed({ _tag: "MustWait" })
        const spec: RunSpec = {
          run: evolve(run, started),
          runnable,
          start,
          history: null,
          hasRow: false,
          nextSeq: 1,
          journalBytes: 0,
          ...(claim === null ? {} : { claim }),
          ...(audit === null ? {} : { audit })
        }
        // Forked in LiveRuns: the run goes on when the caller is interrupted.
        return Effect.async<DirectOutcome>((resume) => live.launch(spec, (outcome) => resume(Effect.succeed(outcome))))
      })
  })
