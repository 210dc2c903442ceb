/** The operation on the cluster. Contract: cluster. */
import { ClusterStatus } from "../../actors/management/run/ClusterStatus.js"
import { ClusterView } from "../../domain/run/ClusterView.js"
import { closedToNarrowedKeys } from "../ClosedScope.js"
import { operationsOf } from "../operation/Operation.js"
import { record } from "../operation/Output.js"

const ofCluster = operationsOf({
  with: ClusterStatus,
  resource: "cluster",
  sharing: "hidden",
  scoped: closedToNarrowedKeys,
  permit: "executions:read"
})

/** The operations of the group `cluster`. */
export const clusterOperations = [
  ofCluster({
    name: "cluster.status",
    summary: "Read the status of the cluster",
    description:
      "Lists the nodes of the service and how many shards each holds. Runs are counted of the caller's organisation only.",
    answers: { 200: "The nodes, and the unfinished runs." },
    route: "GET /api/v1/cluster",
    output: record(ClusterView),
    use: (status, { context }) => status.read(context)
  })
] as const
