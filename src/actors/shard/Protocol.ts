/** A message by which a node asks a shard of its own whether it answers: it takes the way of every other message. */
import { ClusterSchema, Entity } from "@effect/cluster"
import { Rpc } from "@effect/rpc"

/** Is answered at once. Idempotent. */
export const Ask = Rpc.make("Ask")

/** The entity that answers for a shard; any id that belongs to the shard names it. */
export const Shard = Entity.make("Shard", [Ask]).annotate(ClusterSchema.ClientTracingEnabled, false)
