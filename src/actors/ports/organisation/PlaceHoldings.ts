/** How much of a kind each node of a cluster may have at once in an organisation, together never more than its limit. */
import { Context, type Effect } from "effect"
import type { OrganisationId } from "../../../domain/Ids.js"
import type { Unavailable } from "../../../domain/Failure.js"

/** What is counted: runs, and sessions of `svc.db`. */
export const placeKinds = ["runs", "db"] as const
export type PlaceKind = (typeof placeKinds)[number]

/** Who takes places by the statement that begins what needs them: the seat, and the turn of its request. */
export interface PlaceTaker {
  readonly seat: string
  readonly turn: number
}

/** A request of a seat, which numbers its requests by `turn`. One that arrives after a later one changes nothing. */
export interface PlaceRequest extends PlaceTaker {
  readonly kind: PlaceKind
  readonly organisation: OrganisationId
  /** In use on that node: it holds these in any case, since a run that another node began cannot be refused. */
  readonly used: number
  /** All that it asks for, with those in use. */
  readonly wanted: number
  /** The organisation's limit. */
  readonly most: number
}

export class PlaceHoldings extends Context.Tag("svc/PlaceHoldings")<
  PlaceHoldings,
  {
    /**
     * How many places the seat holds now; `null` if the seat is gone, or a later request came first. The sum over all
     * seats exceeds `most` only by places that are in use.
     */
    readonly hold: (request: PlaceRequest) => Effect.Effect<number | null, Unavailable>
  }
>() {}
