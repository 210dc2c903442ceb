/**
 * What a repetition of a run begins with: pure decisions over the run that is repeated and its journal. Contract:
 * execution record; retry and resume against the journal.
 */
import type { ExecutionDetail, ExecutionView } from "./ExecutionView.js"
import { ValidationFailed } from "./Failure.js"
import { isObject, type Json, type JsonObject } from "./Json.js"
import { history, type JournalEntry, type StartEntry } from "./RunJournal.js"

export interface RerunRequest {
  /** `fresh` (default): from the start. `resume`: with the results that the run has already. */
  readonly mode?: "fresh" | "resume" | undefined
  /** `same` (default): the code that ran. `latest`: what is deployed now. */
  readonly version?: "same" | "latest" | undefined
  readonly input?: JsonObject | undefined
}

export const notResumable = (message: string) =>
  new ValidationFailed({
    code: "VALIDATION_FAILED",
    message,
    details: [{ path: "mode", code: "NOT_ALLOWED", message }]
  })

/** Why a request contradicts itself. */
export const rerunRefusal = ({ input, mode, version }: RerunRequest): ValidationFailed | undefined =>
  mode === "resume" && (version === "latest" || input !== undefined)
    ? notResumable(
        "a resumed run has the version and the input of the run that it resumes: leave both out, or use the mode fresh"
      )
    : undefined

/** A repetition keeps its class, but not above the one below the API's own starts. */
export const rerunPriority = (priority: number): 2 | 3 | 4 => (priority === 3 || priority === 4 ? priority : 2)

const inputNotKept = new ValidationFailed({
  code: "VALIDATION_FAILED",
  message: "the input of this run held secrets, which are no longer kept: send it as input",
  details: [{ path: "input", code: "REQUIRED", message: "is required: the recorded input lacks its secrets" }]
})

/** The input of the repetition: the one sent, else the exact one of the journal, else the recorded one if it is whole. */
export const rerunInput = (
  { input: shown }: Pick<ExecutionDetail, "input">,
  { inputRedacted }: { readonly inputRedacted?: boolean },
  request: RerunRequest,
  start: StartEntry | undefined
): Json | ValidationFailed => {
  const kept: Json | undefined = request.input ?? start?.input
  if (kept === undefined && inputRedacted === true) return inputNotKept
  const input: Json = kept ?? shown
  return isObject(input) && "$blob" in input
    ? notResumable("the input of this run was too large to keep: send it with the request")
    : input
}

/** The calls that a resumed run makes again: those that failed transiently, and the one whose failure ended the run. */
export const callsToRepeat = (entries: ReadonlyArray<JournalEntry>): ReadonlyArray<number> => {
  const failures = entries.flatMap((entry) => (entry.kind === "done" && !entry.result.ok ? [entry] : []))
  const last = failures.at(-1)
  return failures
    .filter((entry) => entry === last || (!entry.result.ok && entry.result.failure.category === "transient"))
    .map((entry) => entry.call)
}

export interface ResumedStep {
  readonly index: number
  readonly status: "completed" | "failed"
  readonly record: Json
}

/**
 * The steps that a resumed run begins with: those whose results it uses again. `entries`: the journal of the run that it
 * resumes, without its start, with the attempt that resumes it.
 */
export const resumedSteps = (
  { steps }: Pick<ExecutionDetail, "steps">,
  start: StartEntry,
  entries: ReadonlyArray<JournalEntry>
): ReadonlyArray<ResumedStep> => {
  const replayed = new Set(history(start, entries).replay.map(({ call }) => call))
  return steps.flatMap((step) => {
    if (!isObject(step)) return []
    const { index, status } = step
    const isReused = typeof index === "number" && replayed.has(index)
    return isReused && (status === "completed" || status === "failed")
      ? [{ index, status, record: { ...step, reused: true } }]
      : []
  })
}

/** Whom the repetition acts for: the customer of the run. */
export const customerOfRun = ({ customerId, customerRef }: ExecutionView) =>
  customerId === null ? null : { id: customerId, ref: customerRef }
