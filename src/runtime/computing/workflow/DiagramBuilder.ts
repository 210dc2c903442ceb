/** Builds a diagram: nodes in the order of the source, and an edge from every loose end to the next node. */
import type { AnyNode } from "acorn"
import type { Diagram, DiagramEdge, DiagramNode } from "../../../domain/workflow/WorkflowAnalysis.js"
import type { Tree } from "./Syntax.js"

/** An edge without a target yet: the node that control leaves, and the label of the edge. */
export interface LooseEnd {
  readonly id: string
  readonly label?: string
}
export type Ends = ReadonlyArray<LooseEnd>

/** Larger diagrams are unreadable and take seconds to lay out. One last node stands for all further ones. */
export const maxNodes = 120

export interface DiagramBuilder {
  /** Adds a node with an edge from every loose end, and returns its id. */
  readonly addNode: (kind: string, label: string, from: Ends, at?: AnyNode) => string
  readonly addEdge: (edge: DiagramEdge) => void
  /** Whether further nodes are omitted. */
  readonly isFull: () => boolean
  readonly build: () => Diagram
}

export const makeDiagramBuilder = (tree: Tree): DiagramBuilder => {
  const nodes: Array<DiagramNode> = []
  const edges = new Map<string, DiagramEdge>()
  const overflowId = "more"

  const addEdge = (edge: DiagramEdge) => {
    if (edge.from === overflowId && edge.to === overflowId) return
    edges.set(`${edge.from} ${edge.to} ${edge.label ?? ""}`, edge)
  }

  const create = (kind: string, label: string, at: AnyNode | undefined): string => {
    if (nodes.length < maxNodes - 1) {
      const id = `n${nodes.length}`
      nodes.push({ id, kind, label, ...(at === undefined ? {} : tree.position(at)) })
      return id
    }
    if (nodes.length < maxNodes) nodes.push({ id: overflowId, kind: "more", label: "more steps than are drawn" })
    return overflowId
  }

  return {
    addNode: (kind, label, from, at) => {
      const id = create(kind, label, at)
      for (const end of from)
        addEdge({ from: end.id, to: id, ...(end.label === undefined ? {} : { label: end.label }) })
      return id
    },
    addEdge,
    isFull: () => nodes.length >= maxNodes,
    build: () => ({ nodes, edges: [...edges.values()] })
  }
}
