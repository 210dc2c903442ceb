/**
 * Decides with which input, priority and journalled results a re-run starts; pure.
 * Contract: execution record; retry and resume against the journal.
 */
import { Either, Schema } from "effect"
import type { ExecutionDetail, ExecutionView } from "./ExecutionView.js"
import { ValidationFailed } from "../Failure.js"
import { isObject, Json, JsonText } from "../Json.js"
import { buildHistory, type IndexedEntry, type StartEntry } from "./RunJournal.js"

/**
 * The body of a re-run. `fresh` (default): all calls are made again; `resume`: results of successful calls are reused.
 * `same` (default): the version that ran; `latest`: the version that is deployed now.
 */
export const RerunRequest = Schema.Struct({
  mode: Schema.optional(Schema.Literal("fresh", "resume")),
  version: Schema.optional(Schema.Literal("same", "latest")),
  input: Schema.optional(Schema.Record({ key: Schema.String, value: Json }))
}).annotations({ identifier: "Rerun" })
export type RerunRequest = typeof RerunRequest.Type

/** The refusal to resume a run. */
export const notResumable = (message: string) =>
  new ValidationFailed({
    code: "VALIDATION_FAILED",
    message,
    details: [{ path: "mode", code: "NOT_ALLOWED", message }]
  })

/** The refusal of a request that contradicts itself. */
export const rerunRefusal = ({ input, mode, version }: RerunRequest): ValidationFailed | undefined =>
  mode === "resume" && (version === "latest" || input !== undefined)
    ? notResumable(
        "a resumed run has the version and the input of the run that it resumes: leave both out, or use the mode fresh"
      )
    : undefined

/** A re-run keeps its priority, but is at most one below starts by the API. */
export const rerunPriority = (priority: number): 2 | 3 | 4 => (priority === 3 || priority === 4 ? priority : 2)

const inputUnavailable = new ValidationFailed({
  code: "VALIDATION_FAILED",
  message: "the input of this run had secrets, which are no longer stored: send input with the request",
  details: [{ path: "input", code: "REQUIRED", message: "is required: the recorded input has no secrets" }]
})

/** The input that was sent, or else the exact one of the journal, or else the recorded one if it is complete. */
export const rerunInput = (
  { input: recorded }: Pick<ExecutionDetail, "input">,
  { inputRedacted }: { readonly inputRedacted?: boolean },
  request: RerunRequest,
  start: StartEntry | undefined
): Either.Either<Json, ValidationFailed> => {
  const exact: Json | undefined = request.input ?? start?.input
  if (exact === undefined && inputRedacted === true) return Either.left(inputUnavailable)
  const input: Json = exact ?? recorded
  return isObject(input) && "$blob" in input
    ? Either.left(notResumable("the input of this run was too large to store: send input with the request"))
    : Either.right(input)
}

/** The calls that a resumed run makes again: transient failures, and the failure that ended the run. */
export const callsToRepeat = (entries: ReadonlyArray<IndexedEntry>): ReadonlyArray<number> => {
  const failures = entries.flatMap((entry) => (entry.kind === "done" && entry.outcome !== "ok" ? [entry] : []))
  const last = failures.at(-1)
  return failures.filter((entry) => entry === last || entry.outcome === "transient").map((entry) => entry.call)
}

/** A step that a resumed run copies. */
export interface ResumedStep {
  readonly index: number
  readonly status: "completed" | "failed"
  readonly record: JsonText
}

/**
 * The steps whose results a resumed run reuses. `entries`: the journal of the resumed run without its start, and with the
 * attempt entry of the new run.
 */
export const resumedSteps = (
  { steps }: Pick<ExecutionDetail, "steps">,
  start: StartEntry,
  entries: ReadonlyArray<IndexedEntry>
): ReadonlyArray<ResumedStep> => {
  const replayed = new Set(buildHistory(start, entries).replay.map(({ call }) => call))
  return steps.flatMap((step) => {
    if (!isObject(step)) return []
    const { index, status } = step
    const isReused = typeof index === "number" && replayed.has(index)
    return isReused && (status === "completed" || status === "failed")
      ? [{ index, status, record: new JsonText(JSON.stringify({ ...step, reused: true })) }]
      : []
  })
}

/** The customer on whose behalf the re-run acts. */
export const customerOfRun = ({ customerId, customerRef }: ExecutionView) =>
  customerId === null ? null : { id: customerId, ref: customerRef }
