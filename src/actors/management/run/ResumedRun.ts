/** What a re-run takes over from the run that it resumes. Contract: retry and resume against the journal. */
import { Effect } from "effect"
import { refuseWith, type Failure, ValidationFailed } from "../../../domain/Failure.js"
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
import type { RecordedRun } from "../../ports/run/ExecutionReads.js"
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

/**
 * Makes the function that decides what a resumed run takes over, and which of the steps that it does not run again differ in
 * the version that runs. Code is replayed. A flow runs from its beginning, and its completed steps keep their results.
 */
export const makeResumedRun = Effect.gen(function* () {
  const runnables = yield* Runnables
  const { compute } = yield* Computations

  return Effect.fnUntraced(function* (
    { organisationId }: Principal,
    { entries, record, start, view }: ResumedParent,
    runnable: Runnable,
    { at, ...request }: RerunRequest & { readonly at: number }
  ): Effect.fn.Return<{ readonly resumes: Resumes; readonly changed: ReadonlyArray<string> }, Failure> {
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
    const { anew, changed } = resumed.value
    const kept = completedSteps(start, [...entries, { ...attempt, anew: { steps: anew, rootId } }])
    return { resumes: { ...resumes, attempt, anew }, changed: changed.filter((name) => kept.has(name)) }
  })
})
