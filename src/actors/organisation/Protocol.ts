/** What may be asked of the tenant actor: it leases what is counted per organisation. */
import { ClusterSchema, Entity } from "@effect/cluster"
import { Rpc } from "@effect/rpc"
import { Schema } from "effect"

/** The window has no calls left, or fewer than asked for. */
export const Lease = Schema.Struct({
  got: Schema.Int,
  /** Calls of the window that are not leased yet. */
  left: Schema.Int
})
export type Lease = typeof Lease.Type

/** Leases at most `most` calls of a bucket's window to a node; tokens that it does not use come back with `GiveBack`. */
export const LeaseOrganisationCalls = Rpc.make("LeaseCalls", {
  payload: { bucket: Schema.String, minute: Schema.Number, limit: Schema.Int, most: Schema.Int },
  success: Lease,
  error: Schema.Literal("unavailable")
})

export const GiveBack = Rpc.make("GiveBack", {
  payload: { bucket: Schema.String, minute: Schema.Number, limit: Schema.Int, calls: Schema.Int }
})

export const Tenant = Entity.make("Tenant", [LeaseOrganisationCalls, GiveBack]).annotate(
  ClusterSchema.ClientTracingEnabled,
  false
)
