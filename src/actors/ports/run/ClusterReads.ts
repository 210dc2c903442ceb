/** Reads the nodes of the cluster, and what runs on them of one organisation. */
import { Context, type Effect } from "effect"
import type { Unavailable } from "../../../domain/Failure.js"
import type { OrganisationId } from "../../../domain/Ids.js"
import type { ClusterNode, ClusterView, WaitingEngine } from "../../../domain/run/ClusterView.js"

/** The cluster, with the engines of its nodes. */
export interface ClusterReading extends Omit<ClusterView, "nodes" | "engines" | "waiting"> {
  /** In the order in which they joined. `engines`: of its build, the current one first; `null` for this process. */
  readonly nodes: ReadonlyArray<Omit<ClusterNode, "engine"> & { readonly engines: ReadonlyArray<string> | null }>
  /** How many of the unfinished runs began on which engine. */
  readonly begun: ReadonlyArray<WaitingEngine>
}

export class ClusterReads extends Context.Tag("svc/ClusterReads")<
  ClusterReads,
  {
    /** A service that is alone is the only node, which holds all shards. */
    readonly read: (organisation: OrganisationId) => Effect.Effect<ClusterReading, Unavailable>
  }
>() {}
