/** The result of static analysis of a workflow's code: script, bindings, warnings and diagram. */

import type { Detail } from "../Failure.js"
import type { OrderWarning } from "../flow/OrderWarnings.js"

/** A connector action that the code calls. `action` is `*` if the name is computed at run time. */
export interface Binding {
  readonly connector: string
  readonly action: string
}

/** A warning or an error at a place of the source. */
export interface SourceIssue {
  readonly code: string
  readonly message: string
  /** Both count from 1. */
  readonly line: number
  readonly column: number
}

/** A call, branch or end. */
export interface DiagramNode {
  readonly id: string
  readonly kind: string
  readonly label: string
  readonly line?: number
  readonly column?: number
  /** In the diagram of an execution: what became of it. */
  readonly mark?: NodeMark | "none"
}

/** What became of a part of a workflow in a run. */
export type NodeMark = "completed" | "failed" | "running" | "skipped"

/** A transition between nodes. */
export interface DiagramEdge {
  readonly from: string
  readonly to: string
  readonly label?: string
  /** Leads back to the head of a loop. */
  readonly back?: boolean
  /** Taken when an error is thrown. */
  readonly error?: boolean
}

/** The control flow of the code. */
export interface Diagram {
  readonly nodes: ReadonlyArray<DiagramNode>
  readonly edges: ReadonlyArray<DiagramEdge>
}

/** What the steps of a flow are compiled to. */
export interface FlowAnalysis extends Omit<WorkflowAnalysis, "warnings"> {
  readonly warnings: ReadonlyArray<SourceIssue | OrderWarning | Detail>
  /** The workflow in code form that makes the same calls. */
  readonly source: string
  /** It waits for people or time: its version runs as Long. */
  readonly isLong: boolean
}

/** What one step of a flow is compiled to. */
export interface StepAnalysis extends Pick<WorkflowAnalysis, "script" | "bindings"> {
  /** Its place in the document. */
  readonly path: string
  readonly type: string
  /** It runs for each item of a loop. */
  readonly isInLoop: boolean
  /** It, or a step inside of it, waits for people or time. */
  readonly isLong: boolean
}

/** Everything that analysis finds. */
export interface WorkflowAnalysis {
  /** The script that the sandbox runs, with the lines and columns of the source. */
  readonly script: string
  readonly bindings: ReadonlyArray<Binding>
  readonly warnings: ReadonlyArray<SourceIssue>
  readonly diagram: Diagram
}
