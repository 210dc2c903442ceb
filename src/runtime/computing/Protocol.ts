/** The messages between the service and a computing worker: frames of a number and JSON text. */
import type { ComputationName } from "../../actors/ports/Computations.js"

export interface Job {
  readonly name: ComputationName
  readonly input: unknown
}

export type JobAnswer =
  | { readonly tag: "Done"; readonly output: unknown }
  | { readonly tag: "TooMuchMemory" }
  /** A bug: where it happened, without the message, which may quote the input. */
  | { readonly tag: "Defect"; readonly frames: string }

/** What the service sends: `u32` number of the job, then a `Job`. */
export const WorkerRequest = { job: 0 } as const

/** What a worker sends: `ready` once, then for every job its number and a `JobAnswer`. */
export const WorkerReply = { ready: 0, answer: 1 } as const
