/** The use case of the cluster's status. Contract: cluster. */
import { Context, Effect } from "effect"
import type { ClusterView, ClusterNode, WaitingEngine } from "../../../domain/run/ClusterView.js"
import { Sandbox } from "../../ports/run/Sandbox.js"
import type { CallContext } from "../CallContext.js"
import type { Unavailable } from "../../../domain/Failure.js"
import type { OrganisationId } from "../../../domain/Ids.js"

/** The cluster, with the engines of its nodes. */
export interface ClusterReading extends Omit<ClusterView, "nodes" | "engines" | "waiting"> {
  /** In the order in which they joined. `engines`: of its build, the current one first; `null` for this process. */
  readonly nodes: ReadonlyArray<Omit<ClusterNode, "engine"> & { readonly engines: ReadonlyArray<string> | null }>
  /** How many of the unfinished runs began on which engine. */
  readonly begun: ReadonlyArray<WaitingEngine>
}

/** Reads the nodes of the cluster, and what runs on them of one organisation. */
export class ClusterReads extends Context.Tag("svc/ClusterReads")<
  ClusterReads,
  {
    /** A service that is alone is the only node, which holds all shards. */
    readonly read: (organisation: OrganisationId) => Effect.Effect<ClusterReading, Unavailable>
  }
>() {}

const make = Effect.gen(function* () {
  const reads = yield* ClusterReads
  const { engines } = yield* Sandbox

  return {
    /** The nodes, and the unfinished runs of the caller's organisation. */
    read: ({ caller }: CallContext) =>
      Effect.map(reads.read(caller.organisationId), ({ begun, nodes, ...rest }): ClusterView => {
        const computing = nodes.filter(({ role, state }) => role !== "api" && state !== "silent")
        const carried = new Set(computing.flatMap((node) => node.engines ?? engines))
        return {
          ...rest,
          nodes: nodes.map(({ engines: own, ...node }) => ({
            ...node,
            engine: node.role === "api" ? null : ((own ?? engines)[0] ?? null)
          })),
          engines,
          waiting: begun.filter(({ engine }) => !carried.has(engine))
        }
      })
  }
})

export class ClusterStatus extends Effect.Service<ClusterStatus>()("svc/ClusterStatus", { effect: make }) {}
