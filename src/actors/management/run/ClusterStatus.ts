/** The use case of the cluster's status. Contract: cluster. */
import { Effect } from "effect"
import type { ClusterView } from "../../../domain/run/ClusterView.js"
import { ClusterReads } from "../../ports/run/ClusterReads.js"
import { Sandbox } from "../../ports/run/Sandbox.js"
import type { CallContext } from "../CallContext.js"

const make = Effect.gen(function* () {
  const reads = yield* ClusterReads
  const { engine, engines } = yield* Sandbox

  return {
    /** The nodes, and the unfinished runs of the caller's organisation. All nodes are of one build, and have its engines. */
    read: ({ caller }: CallContext) =>
      Effect.map(reads.read(caller.organisationId), ({ nodes, ...rest }): ClusterView => ({
        ...rest,
        nodes: nodes.map((node) => ({ ...node, engine: node.role === "api" ? null : engine })),
        engines
      }))
  }
})

export class ClusterStatus extends Effect.Service<ClusterStatus>()("svc/ClusterStatus", { effect: make }) {}
