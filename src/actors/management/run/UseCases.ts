/** The use cases of runs, and of what they ask people, as one layer. */
import { Layer } from "effect"
import { Approvals } from "./Approvals.js"
import { ClusterStatus } from "./ClusterStatus.js"
import { ExecutionControl } from "./ExecutionControl.js"
import { ExecutionDiagram } from "./ExecutionDiagram.js"
import { ExecutionHistory } from "./ExecutionHistory.js"
import { ExecutionStatistics } from "./ExecutionStatistics.js"
import { LinkedApprovals } from "./LinkedApprovals.js"
import { RunEnds } from "./RunEnds.js"
import { StepTests } from "./StepTests.js"
import { SyncReportHistory } from "./SyncReportHistory.js"

export const runUseCases = Layer.mergeAll(
  Approvals.Default,
  ClusterStatus.Default,
  ExecutionControl.Default,
  ExecutionDiagram.Default,
  ExecutionHistory.Default,
  ExecutionStatistics.Default,
  LinkedApprovals.Default,
  RunEnds.Default,
  StepTests.Default,
  SyncReportHistory.Default
)
