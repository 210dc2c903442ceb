/** The published overrides of field maps. Results may be a second old. */
import { type Effect, Context } from "effect"
import type { Unavailable } from "../../../domain/Failure.js"
import type { CustomerId, OrganisationId } from "../../../domain/Ids.js"
import type { MapOverride } from "../../../domain/mapping/EffectiveMap.js"
import type { MapMoment } from "../../../domain/mapping/MapPublication.js"
import type { PlacedOverride } from "../../../domain/mapping/inspect/BrokenPairs.js"

/** The map that overrides are for. */
export interface FieldMapQuery {
  readonly organisationId: OrganisationId
  readonly customerId: CustomerId | null
  readonly connector: string
  /** The entity's name in the connector's definition. */
  readonly entity: string
  /** `CDMOrder`, or `crm.contact`. */
  readonly model: string
}

/** A version of an override, as cursors and versions of workflows name it. */
export interface FieldMapPin {
  readonly id: string
  readonly version: number
}

export class FieldMapReads extends Context.Tag("svc/FieldMapReads")<
  FieldMapReads,
  {
    /** The organisation's override before the customer's. */
    readonly published: (query: FieldMapQuery) => Effect.Effect<ReadonlyArray<MapOverride>, Unavailable>
    /** Those of all entities of the connector that become the model, the organisation's before the customer's. */
    readonly ofModel: (
      query: Omit<FieldMapQuery, "entity">
    ) => Effect.Effect<ReadonlyArray<PlacedOverride>, Unavailable>
    /**
     * Those of a connector, of the organisation and then of all customers, in the order of their ids; never older than the
     * call. `after`: the last one of the page before.
     */
    readonly ofConnector: (
      organisation: OrganisationId,
      connector: string,
      after: PlacedOverride | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<PlacedOverride>, Unavailable>
    /** The same as `published` with the versions that are pinned; those that are gone are missing. */
    readonly pinned: (
      query: FieldMapQuery,
      pins: ReadonlyArray<FieldMapPin>
    ) => Effect.Effect<ReadonlyArray<MapOverride>, Unavailable>
    /**
     * The organisation's override that its revision has, and the customer's as it was at the time. Null: one of them was
     * deleted since.
     */
    readonly asOf: (
      query: FieldMapQuery,
      moment: MapMoment
    ) => Effect.Effect<ReadonlyArray<MapOverride> | null, Unavailable>
    /** The version of the organisation's own connector that a revision has; null: it was not published then. */
    readonly connectorVersion: (
      organisation: OrganisationId,
      connector: string,
      revision: number
    ) => Effect.Effect<string | null, Unavailable>
  }
>() {}
