/** The use case of the cluster's status. Contract: cluster. */
import { Effect } from "effect"
import type { ClusterView } from "../../../domain/run/ClusterView.js"
import { ClusterReads } from "../../ports/run/ClusterReads.js"
import { Sandbox } from "../../ports/run/Sandbox.js"
import type { CallContext } from "../CallContext.js"

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
