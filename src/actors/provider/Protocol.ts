/** Messages to the owner of a provider's limit: one owner per connector and organisation, for all connections. */
import { ClusterSchema, Entity } from "@effect/cluster"
import { Rpc } from "@effect/rpc"
import { Schema } from "effect"
import { Unavailable } from "../../domain/Failure.js"
import { CallLimits, ProviderQuota } from "../../domain/connection/CallLimits.js"

/** Leases calls to a node. A repeated message makes another lease; the first one expires. */
export const LeaseCalls = Rpc.make("LeaseCalls", {
  payload: { limits: CallLimits, id: Schema.String, wanted: Schema.Int, timeoutMillis: Schema.Number },
  success: Schema.Union(
    Schema.TaggedStruct("Leased", { count: Schema.Int, at: Schema.Number }),
    Schema.TaggedStruct("WaitUntil", { at: Schema.Number })
  ),
  error: Unavailable
})

/** Reports the use of leases, and the quota that the provider sent. Idempotent. */
export const Report = Rpc.make("Report", {
  payload: {
    limits: CallLimits,
    leases: Schema.Array(Schema.Struct({ id: Schema.String, used: Schema.Int, lastAt: Schema.Number })),
    reading: Schema.NullOr(ProviderQuota)
  },
  error: Unavailable
})

/** Extends the slots of these leases, whose calls are still in flight, by `forMillis` from now. Idempotent. */
export const Keep = Rpc.make("Keep", {
  payload: { ids: Schema.Array(Schema.String), forMillis: Schema.Number },
  error: Unavailable
})

/** The entity of a limit; its id is `<organisation>|<connector slug>`. */
export const ProviderLimit = Entity.make("ProviderLimit", [LeaseCalls, Report, Keep]).annotate(
  ClusterSchema.ClientTracingEnabled,
  false
)
