/** Draws a flow: a node for each step, edges for what waits for what, branches and loops. */
import type { Diagram, DiagramEdge, DiagramNode } from "../workflow/WorkflowAnalysis.js"
import type { CheckedFlow } from "./Checks.js"
import { isLoopBody, type StepList, type StepNode } from "./Flow.js"

/** The nodes at which a step, with what is inside of it, ends. */
type Ends = ReadonlyArray<{ readonly from: string; readonly label?: string }>

/** The diagram of a flow. */
export const flowDiagram = ({ dependencies, flow }: CheckedFlow): Diagram => {
  const nodes: Array<DiagramNode> = [{ id: "start", kind: "start", label: flow.spec.trigger?.type ?? "start" }]
  const edges: Array<DiagramEdge> = []
  const ends = new Map<StepNode, Ends>()
  const connect = (from: Ends, to: string) => {
    for (const end of from) edges.push({ from: end.from, to, ...(end.label === undefined ? {} : { label: end.label }) })
  }

  /** Adds the steps of a list, which begins at `from`. Returns where it ends. */
  const addList = (list: StepList, from: Ends): Ends => {
    const followed = new Set<StepNode>(list.nodes.flatMap((node) => dependencies.get(node) ?? []))
    for (const node of list.nodes) {
      const { name } = node.step
      nodes.push({ id: name, kind: node.type.node, label: `${name}: ${node.shape.label}` })
      const inside = node.lists.map((inner) => {
        const innerEnds = addList(inner, [
          { from: name, ...(inner.group?.label === undefined ? {} : { label: inner.group.label }) }
        ])
        if (!isLoopBody(inner)) return innerEnds
        for (const end of innerEnds) if (end.from !== name) edges.push({ from: end.from, to: name, back: true })
        return [{ from: name }]
      })
      ends.set(node, inside.length === 0 ? [{ from: name }] : inside.flat())
    }
    for (const node of list.nodes) {
      const before = dependencies.get(node) ?? []
      connect(before.length === 0 ? from : before.flatMap((one) => ends.get(one) ?? []), node.step.name)
    }
    return list.nodes.length === 0
      ? from
      : list.nodes.filter((node) => !followed.has(node)).flatMap((node) => ends.get(node) ?? [])
  }

  const last = addList(flow.root, [{ from: "start" }])
  nodes.push({ id: "end", kind: "end", label: "end" })
  connect(last, "end")
  return { nodes, edges }
}
