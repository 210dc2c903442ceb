/** What may be asked of the owner of a provider's limit: one for a connector in an organisation, over all connections. */
import { ClusterSchema, Entity } from "@effect/cluster"
import { Rpc } from "@effect/rpc"
import { Schema } from "effect"

const nullable = Schema.NullOr(Schema.Number)
const limits = Schema.Struct({ requests: nullable, perMillis: Schema.Number, concurrency: nullable })
const unavailable = Schema.Literal("unavailable")

/** Leases calls to a node. A repetition under the same id would be another lease: the first one ends by itself. */
export const LeaseCalls = Rpc.make("LeaseCalls", {
  payload: { limits, id: Schema.String, wanted: Schema.Int, timeoutMillis: Schema.Number },
  success: Schema.Union(
    Schema.TaggedStruct("Leased", { count: Schema.Int, at: Schema.Number }),
    Schema.TaggedStruct("WaitUntil", { at: Schema.Number })
  ),
  error: unavailable
})

/** What became of leases, and what the provider said. Idempotent. */
export const Report = Rpc.make("Report", {
  payload: {
    limits,
    leases: Schema.Array(Schema.Struct({ id: Schema.String, used: Schema.Int, lastAt: Schema.Number })),
    reading: Schema.NullOr(
      Schema.Struct({ limit: nullable, remaining: nullable, resetAt: nullable, retryAfterAt: nullable })
    )
  },
  error: unavailable
})

/** Calls under these leases go on: their places stay taken for so long from now. Idempotent. */
export const Keep = Rpc.make("Keep", {
  payload: { ids: Schema.Array(Schema.String), forMillis: Schema.Number },
  error: unavailable
})

/** Its id: the organisation's and the connector's slug, with a bar between them. */
export const ProviderLimit = Entity.make("ProviderLimit", [LeaseCalls, Report, Keep]).annotate(
  ClusterSchema.ClientTracingEnabled,
  false
)
