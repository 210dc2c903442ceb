/** What a re-run takes over from the run that it resumes. Contract: retry and resume against the journal. */
import { Effect, Option } from "effect"
import { refuseWith, type Failure, ValidationFailed } from "../../../domain/Failure.js"
import type { ExecutionId } from "../../../domain/Ids.js"
import { generationOf, presentGeneration } from "../../../domain/flow/Generation.js"
import { resumptionsAtSteps } from "../../../domain/run/RunAnew.js"
import {
  callsToRepeat,
  codeResumeRefusal,
  completedSteps,
  notResumable,
  type RerunRequest
} from "../../../domain/run/Rerun.js"
import type { AttemptEntry, IndexedEntry, StartEntry } from "../../../domain/run/RunJournal.js"
import { Computations, tooCostlyDetail } from "../../ports/Computations.js"
import { ExecutionReads, type RecordedRun } from "../../ports/run/ExecutionReads.js"
import type { StartRequest } from "../../ports/run/Executions.js"
import { type Runnable, Runnables } from "../../ports/run/Runnables.js"
import type { Principal } from "../Caller.js"

type Resumes = NonNullable<NonNullable<StartRequest["parent"]>["resumes"]>

/** The run that is resumed, with the entries of its journal. */
interface ResumedParent extends RecordedRun {
  readonly start: StartEntry
  readonly entries: ReadonlyArray<IndexedEntry>
}

const resumedAtSteps = (entries: ReadonlyArray<IndexedEntry>): number =>
  entries.filter((entry) => entry.kind === "attempt" && (entry.anew?.steps.length ?? 0) > 0).length

const refusedSteps = (details: ValidationFailed["details"]): ValidationFailed => {
  const message = details?.[0]?.message ?? "this run cannot be resumed"
  return new ValidationFailed({ code: "VALIDATION_FAILED", message, details: details ?? [] })
}

/** The iteration that a path lies in: `sync[3]` of `sync[3].send`. */
const iterationOf = (path: string | undefined): string | undefined => /^(.*\[\d{1,5}\])\./.exec(path ?? "")?.[1]

/**
 * Makes the function that decides what a resumed run takes over, and which of the steps that it does not run again differ in
 * the version that runs. Code is replayed. A flow runs from its beginning, and its completed steps keep their results.
 */
export const makeResumedRun = Effect.gen(function* () {
  const runnables = yield* Runnables
  const { compute } = yield* Computations
  const reads = yield* ExecutionReads

  /** Fails if the run began no step in the iteration that the path names. */
  const checkIteration = Effect.fnUntraced(function* (
    caller: Principal,
    id: ExecutionId,
    fromStep: string | undefined
  ) {
    const path = iterationOf(fromStep)
    if (path === undefined) return
    const found = yield* reads.steps(caller, id, { after: -1, limit: 1, path })
    if (Option.isSome(found) && found.value.steps.length > 0) return
    const message = `the run has no "${path}": an iteration that it began is named, and mode resume runs those that it did not`
    return yield* refusedSteps([{ path: "fromStep", code: "UNKNOWN_STEP", message }])
  })

  return Effect.fnUntraced(function* (
    caller: Principal,
    { entries, record, start, view }: ResumedParent,
    runnable: Runnable,
    { at, ...request }: RerunRequest & { readonly at: number }
  ): Effect.fn.Return<{ readonly resumes: Resumes; readonly changed: ReadonlyArray<string> }, Failure> {
    const { organisationId } = caller
    const { contentHash, rootId } = record
    const { workflowId, workflowVersion } = view
    const resumes = { rootId, entries: entries.length }
    const attempt: AttemptEntry = { kind: "attempt", attempt: 1, at, afresh: [] }
    const from = yield* runnables.stepsOf(organisationId, { workflowId, version: workflowVersion, contentHash })
    if (from === null) {
      yield* refuseWith(codeResumeRefusal(request))
      return { resumes: { ...resumes, attempt: { ...attempt, afresh: callsToRepeat(entries) } }, changed: [] }
    }
    const to = runnable.contentHash === contentHash ? from : yield* runnables.stepsOf(organisationId, runnable)
    if (to === null) return yield* notResumable("the deployed version is code, which cannot resume a run of steps")
    const { fromStep } = request
    if (fromStep !== undefined && resumedAtSteps(entries) >= resumptionsAtSteps)
      return yield* notResumable(
        `the runs of this chain were resumed at steps ${resumptionsAtSteps} times, which is the most: leave fromStep out, or use the mode fresh`
      )
    const resumed = yield* Effect.catchTag(
      compute("resumeFlow", organisationId, {
        from,
        to,
        generation: generationOf(runnable.script) ?? presentGeneration,
        ...(fromStep === undefined ? {} : { fromStep })
      }),
      "TooCostly",
      (error) => refusedSteps([tooCostlyDetail("fromStep", error)])
    )
    if (!resumed.ok) return yield* refusedSteps(resumed.mistakes)
    yield* checkIteration(caller, view.id, fromStep)
    const { anew, changed } = resumed.value
    const kept = completedSteps(start, [...entries, { ...attempt, anew: { steps: anew, rootId } }])
    return { resumes: { ...resumes, attempt, anew }, changed: changed.filter((name) => kept.has(name)) }
  })
})
