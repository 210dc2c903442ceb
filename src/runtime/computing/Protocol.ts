/** The messages between the service and a computing worker: each frame holds a number and JSON text. */
import type { ComputationName } from "../../actors/ports/Computations.js"
import { findProblem } from "../../domain/JsonText.js"
import { computationLimits } from "./ComputationLimits.js"

/** One computation: its name and its input. */
export interface Job {
  readonly name: ComputationName
  readonly input: unknown
}

/** What a worker answers to a job. */
export type JobAnswer =
  | { readonly tag: "Done"; readonly output: unknown }
  | { readonly tag: "TooMuchMemory" }
  /** A bug: its stack frames, without the message, which may quote the input. */
  | { readonly tag: "Defect"; readonly frames: string }

/** Whether an answer is one that the service reads in a bounded time; other ones end as `TooMuchMemory`. */
export const isReadable = (answer: string): boolean =>
  answer.length <= computationLimits.answerBytes && findProblem(answer) !== "tooHeavy"

/** Reads an answer that the worker's own code wrote: a tenant's input never becomes code there. */
export const readAnswer = (text: string): JobAnswer => JSON.parse(text)

/** What the service sends: `u32` number of the job, then a `Job`; and the engine's module, before the first job for it. */
export const WorkerRequest = { job: 0, engine: 1 } as const

/** Computations that evaluate code of a tenant, for which a worker needs the engine. */
export const needsEngine: ReadonlySet<ComputationName> = new Set<ComputationName>(["readFlowFile"])

/** What a worker sends: `ready` once, then for every job its number and a `JobAnswer`. */
export const WorkerReply = { ready: 0, answer: 1 } as const
