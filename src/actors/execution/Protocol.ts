/**
 * Messages to the execution actor, the address of one run in the cluster. No run depends on them: each only makes the
 * run's owner act before its next sweep.
 */
import { ClusterSchema, Entity } from "@effect/cluster"
import { Rpc } from "@effect/rpc"
import { Schema } from "effect"

/** Stops driving a run that was ended elsewhere. Idempotent. */
export const Stop = Rpc.make("Stop", { payload: { status: Schema.Literal("cancelled", "timed_out") } })

/** Resumes a run that is due, unless it is being driven already. Idempotent. */
export const Resume = Rpc.make("Resume")

/** The entity of a run; its id is the execution id. */
export const Execution = Entity.make("Execution", [Stop, Resume]).annotate(ClusterSchema.ClientTracingEnabled, false)
