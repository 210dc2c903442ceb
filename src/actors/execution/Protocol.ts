/**
 * Messages to the execution actor, the address of one run in the cluster: they start an Instant run on the node that owns
 * it, and make its owner stop before its next write is refused.
 */
import { ClusterSchema, Entity } from "@effect/cluster"
import { Rpc } from "@effect/rpc"
import { Schema } from "effect"
import { TooManyRuns, Unavailable } from "../../domain/Failure.js"
import { StartOrder, StartOutcome } from "./StartOrder.js"

/**
 * Drives an Instant run, and answers once it has ended or is suspended. A repetition is answered like the first, or that the
 * run is recorded.
 */
export const Start = Rpc.make("Start", {
  payload: { order: StartOrder },
  success: StartOutcome,
  error: Schema.Union(Unavailable, TooManyRuns)
})

/** Stops driving a run that was ended elsewhere. Idempotent. */
export const Stop = Rpc.make("Stop", { payload: { status: Schema.Literal("cancelled", "timed_out") } })

/** The entity of a run; its id is the execution id. */
export const Execution = Entity.make("Execution", [Start, Stop]).annotate(ClusterSchema.ClientTracingEnabled, false)
