/** What is known of a workflow's JavaScript without running it: is it valid, what does it use, what does it look like. */

/** One connector action that the code calls. `action` is `*` where the name is computed. */
export interface Binding {
  readonly connector: string
  readonly action: string
}

export interface SourceIssue {
  readonly code: string
  readonly message: string
  /** Both count from 1. */
  readonly line: number
  readonly column: number
}

export interface DiagramNode {
  readonly id: string
  readonly kind: string
  readonly label: string
  readonly line?: number
  readonly column?: number
}
export interface DiagramEdge {
  readonly from: string
  readonly to: string
  readonly label?: string
  /** Leads back to the head of a loop. */
  readonly back?: boolean
  /** Taken when something threw. */
  readonly error?: boolean
}
export interface Diagram {
  readonly nodes: ReadonlyArray<DiagramNode>
  readonly edges: ReadonlyArray<DiagramEdge>
}

export interface Analysis {
  /** The script that the sandbox runs; line and column are those of the source. */
  readonly script: string
  readonly bindings: ReadonlyArray<Binding>
  readonly warnings: ReadonlyArray<SourceIssue>
  readonly diagram: Diagram
}
