/** Reads the nodes of the cluster, and what runs on them of one organisation. */
import { Context, type Effect } from "effect"
import type { Unavailable } from "../../../domain/Failure.js"
import type { OrganisationId } from "../../../domain/Ids.js"
import type { ClusterNode, ClusterView } from "../../../domain/run/ClusterView.js"

/** The cluster but for its engines. */
export interface ClusterReading extends Omit<ClusterView, "nodes" | "engines"> {
  /** In the order in which they joined. */
  readonly nodes: ReadonlyArray<Omit<ClusterNode, "engine">>
}

export class ClusterReads extends Context.Tag("svc/ClusterReads")<
  ClusterReads,
  {
    /** A service that is alone is the only node, which holds all shards. */
    readonly read: (organisation: OrganisationId) => Effect.Effect<ClusterReading, Unavailable>
  }
>() {}
