/**
 * Decides with which input, priority and journalled results a re-run starts; pure.
 * Contract: execution record; retry and resume against the journal.
 */
import { Either, Schema } from "effect"
import type { ExecutionView, ExecutionWithValues } from "./ExecutionView.js"
import { ValidationFailed } from "../Failure.js"
import { isObject, Json } from "../Json.js"
import { buildHistory, type IndexedEntry, isRepeated, pathOfPlace, type StartEntry } from "./RunJournal.js"

/**
 * The body of a re-run. `fresh` (default): all calls are made again; `resume`: results of successful calls are reused.
 * `same` (default): the version that ran; `latest`: the version that is deployed now. `fromStep`, for workflows of steps: the
 * path of a step that runs anew, with those that depend on it.
 */
export const RerunRequest = Schema.Struct({
  mode: Schema.optional(Schema.Literal("fresh", "resume")),
  version: Schema.optional(Schema.Literal("same", "latest")),
  fromStep: Schema.optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(1_000))).annotations({
    description: "the path of a step, such as `sync[3].send`: it runs anew, with the steps that depend on it"
  }),
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

/** Whether the results of the run are reused. */
export const isResume = ({ fromStep, mode }: RerunRequest): boolean => mode === "resume" || fromStep !== undefined

/** The refusal of a request that contradicts itself. */
export const rerunRefusal = ({ fromStep, input, mode }: RerunRequest): ValidationFailed | undefined => {
  if (fromStep !== undefined && mode === "fresh")
    return notResumable("a fresh run makes all steps anew: leave fromStep out, or use the mode resume")
  return isResume({ fromStep, mode }) && input !== undefined
    ? notResumable("a resumed run has the input of the run that it resumes: leave it out, or use the mode fresh")
    : undefined
}

/** The refusal to resume code as only steps can be resumed. */
export const codeResumeRefusal = ({ fromStep, version }: RerunRequest): ValidationFailed | undefined => {
  if (fromStep !== undefined)
    return notResumable("only workflows of steps begin at a step: leave fromStep out, or use the mode fresh")
  return version === "latest"
    ? notResumable(
        "resumed code has the version of the run that it resumes: leave version out, or use the mode fresh. Workflows of steps can be resumed on another version"
      )
    : undefined
}

/** The names of the steps that a resumed flow does not run again. `entries`: with the attempt that resumes it. */
export const completedSteps = (start: StartEntry, entries: ReadonlyArray<IndexedEntry>): ReadonlySet<string> => {
  const { outputs, reusable } = buildHistory(start, entries)
  const calls = [...reusable.values()].flatMap(({ place }) =>
    place !== undefined && pathOfPlace(place) === place ? [place] : []
  )
  return new Set([...outputs.keys(), ...calls].map(nameOfPath))
}

const nameOfPath = (path: string): string => path.slice(path.lastIndexOf(".") + 1)

/** A re-run keeps its priority, but is at most one below starts by the API. */
export const rerunPriority = (priority: number): 2 | 3 | 4 => (priority === 3 || priority === 4 ? priority : 2)

const inputUnavailable = new ValidationFailed({
  code: "VALIDATION_FAILED",
  message: "the input of this run had secrets, which are no longer stored: send input with the request",
  details: [{ path: "input", code: "REQUIRED", message: "is required: the recorded input has no secrets" }]
})

/** The input that was sent, or else the exact one of the journal, or else the recorded one if it is complete. */
export const rerunInput = (
  { input: recorded }: Pick<ExecutionWithValues, "input">,
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

/** The calls that a resumed run makes again: those that each attempt makes again, and the failure that ended the run. */
export const callsToRepeat = (entries: ReadonlyArray<IndexedEntry>): ReadonlyArray<number> => {
  const calls = entries.flatMap((entry) => (entry.kind === "done" ? [entry] : []))
  const last = calls.findLast(({ outcome }) => outcome !== "ok")
  return calls.filter((entry) => entry === last || isRepeated(entry)).map((entry) => entry.call)
}

/** The customer on whose behalf the re-run acts. */
export const customerOfRun = ({ customerId, customerRef }: ExecutionView) =>
  customerId === null ? null : { id: customerId, ref: customerRef }
