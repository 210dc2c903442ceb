/**
 * What may be asked of the execution actor: the address of one run, wherever in the cluster it is driven. None of these
 * messages is needed for a run to go on; each only makes its owner act sooner than its next look at the journal.
 */
import { ClusterSchema, Entity } from "@effect/cluster"
import { Rpc } from "@effect/rpc"
import { Schema } from "effect"

/** The run was ended from outside: stop driving it. Idempotent. */
export const Stop = Rpc.make("Stop", { payload: { status: Schema.Literal("cancelled", "timed_out") } })

/** The run is due: go on with it unless it is being driven already. Idempotent. */
export const Resume = Rpc.make("Resume")

export const Execution = Entity.make("Execution", [Stop, Resume]).annotate(ClusterSchema.ClientTracingEnabled, false)
