/** Messages to the organisation's actor, which leases calls of the organisation's limits to nodes. */
import { ClusterSchema, Entity } from "@effect/cluster"
import { Rpc } from "@effect/rpc"
import { Schema } from "effect"
import { placeKinds } from "../ports/organisation/PlaceHoldings.js"
import { Unavailable } from "../../domain/Failure.js"

/** The calls that were granted: fewer than requested, or none, when the window is nearly used up. */
export const Lease = Schema.Struct({
  granted: Schema.Int,
  /** Calls of the window that are not leased yet. */
  left: Schema.Int
})
export type Lease = typeof Lease.Type

/** Leases at most `most` calls of a bucket's window to a node, which returns unused ones with `GiveBack`. */
export const LeaseOrganisationCalls = Rpc.make("LeaseCalls", {
  payload: { bucket: Schema.String, minute: Schema.Number, limit: Schema.Int, most: Schema.Int },
  success: Lease,
  error: Unavailable
})

/** Returns unused calls of a lease. */
export const GiveBack = Rpc.make("GiveBack", {
  payload: { bucket: Schema.String, minute: Schema.Number, limit: Schema.Int, calls: Schema.Int }
})

/**
 * Sets how many places of a kind a node holds at once, with those in use; `null` if its seat is gone, or a later request
 * came first. See the port `PlaceHoldings`.
 */
export const HoldPlaces = Rpc.make("HoldPlaces", {
  payload: {
    kind: Schema.Literal(...placeKinds),
    seat: Schema.String,
    turn: Schema.Number,
    used: Schema.Int,
    wanted: Schema.Int,
    most: Schema.Int
  },
  success: Schema.Struct({ held: Schema.NullOr(Schema.Int) }),
  error: Unavailable
})

/** The entity of an organisation's limits; its id is the organisation's. */
export const OrganisationLimits = Entity.make("OrganisationLimits", [
  LeaseOrganisationCalls,
  GiveBack,
  HoldPlaces
]).annotate(ClusterSchema.ClientTracingEnabled, false)
