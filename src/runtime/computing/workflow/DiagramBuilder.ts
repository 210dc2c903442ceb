/** Builds a diagram: nodes in the order of the source, edges from loose ends to the next node. */
import type { AnyNode } from "acorn"
import type { Diagram, DiagramEdge, DiagramNode } from "../../../domain/WorkflowAnalysis.js"
import type { Tree } from "./Syntax.js"

/** Where control leaves a node, and under which label. */
export interface LooseEnd {
  readonly id: string
  readonly label?: string
}
export type Ends = ReadonlyArray<LooseEnd>

/** Larger diagrams are unreadable and take seconds to lay out; the rest becomes one node that says so. */
export const mostNodes = 120

export interface DiagramBuilder {
  /** Adds a node and leads the loose ends to it. */
  readonly node: (kind: string, label: string, from: Ends, at?: AnyNode) => string
  readonly edge: (edge: DiagramEdge) => void
  /** Whether further nodes are left out. */
  readonly full: () => boolean
  readonly diagram: () => Diagram
}

export const makeDrawing = (tree: Tree): DiagramBuilder => {
  const nodes: Array<DiagramNode> = []
  const edges = new Map<string, DiagramEdge>()
  const rest = "more"

  const edge = (added: DiagramEdge) => {
    if (added.from === rest && added.to === rest) return
    edges.set(`${added.from} ${added.to} ${added.label ?? ""}`, added)
  }

  const add = (kind: string, label: string, at: AnyNode | undefined): string => {
    if (nodes.length < mostNodes - 1) {
      const id = `n${nodes.length}`
      nodes.push({ id, kind, label, ...(at === undefined ? {} : tree.position(at)) })
      return id
    }
    if (nodes.length < mostNodes) nodes.push({ id: rest, kind: "more", label: "more steps than are drawn" })
    return rest
  }

  return {
    node: (kind, label, from, at) => {
      const id = add(kind, label, at)
      for (const end of from) edge({ from: end.id, to: id, ...(end.label === undefined ? {} : { label: end.label }) })
      return id
    },
    edge,
    full: () => nodes.length >= mostNodes,
    diagram: () => ({ nodes, edges: [...edges.values()] })
  }
}
