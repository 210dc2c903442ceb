/**
 * Messages to the execution actor, the address of one run in the cluster: they make its owner stop before its next write is
 * refused. Starts reach the owner in messages of many (`NodeStarts`).
 */
import { ClusterSchema, Entity } from "@effect/cluster"
import { Rpc } from "@effect/rpc"
import { Schema } from "effect"

/** Stops driving a run that was ended elsewhere. Idempotent. */
export const Stop = Rpc.make("Stop", { payload: { status: Schema.Literal("cancelled", "timed_out") } })

/** The entity of a run; its id is the execution id. */
export const Execution = Entity.make("Execution", [Stop]).annotate(ClusterSchema.ClientTracingEnabled, false)
