/**
 * What the steps of a list wait for, from what they read and name. Present generation: a step without `dependsOn` waits for all
 * steps before it. One that an earlier step waits for does not wait for that one, or for those between. Contract: amendments, C9.
 */
import type { Flow, StepList, StepNode } from "./Flow.js"

/** The steps of the same list that a step waits for, in the list's order. */
export type Dependencies = ReadonlyMap<StepNode, ReadonlyArray<StepNode>>

/** The steps of the same list that each step reads or names, itself or by steps inside of it. Each step has an entry. */
export type Edges = ReadonlyMap<StepNode, ReadonlySet<StepNode>>

/** All lists of a flow, outer ones first. */
export const listsOf = (flow: Flow): ReadonlyArray<StepList> => [flow.root, ...flow.nodes.flatMap(({ lists }) => lists)]

const inOrder = (nodes: Iterable<StepNode>): ReadonlyArray<StepNode> => [...nodes].toSorted((a, b) => a.index - b.index)

/** Generation 1: a step waits for what it reads and names; without either for the step before it. */
export const waitsOfFirstGeneration = (edges: Edges): Dependencies => {
  const found = new Map<StepNode, ReadonlyArray<StepNode>>()
  for (const [node, waits] of edges) {
    const previous = node.list.nodes[node.index - 1]
    const isFollowing = waits.size === 0 && node.step.dependsOn === undefined && previous !== undefined
    found.set(node, isFollowing ? [previous] : inOrder(waits))
  }
  return found
}

/** The least of the indices of a step and of those that wait for it, directly or not. */
export const earliestUses = ({ nodes }: StepList, edges: Edges): ReadonlyMap<StepNode, number> => {
  const earliest = new Map<StepNode, number>()
  for (const user of nodes) {
    const open = [user]
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      if (earliest.has(node)) continue
      earliest.set(node, user.index)
      open.push(...(edges.get(node) ?? []))
    }
  }
  return earliest
}

/**
 * The present generation, without those that a step waits for by way of others. A list whose edges have a cycle gets them all.
 * Without one it gets none: a step that stands before another's earliest user has an earlier one itself.
 */
export const waitsOf = (flow: Flow, edges: Edges): Dependencies => {
  const found = new Map<StepNode, ReadonlyArray<StepNode>>()
  for (const list of listsOf(flow)) {
    const earliest = earliestUses(list, edges)
    const waits = new Map(
      list.nodes.map((node) => {
        const before = node.step.dependsOn === undefined ? list.nodes.slice(0, earliest.get(node) ?? node.index) : []
        return [node, new Set([...before, ...(edges.get(node) ?? [])])] as const
      })
    )
    for (const [node, reduced] of withoutIndirect(list, waits)) found.set(node, reduced)
  }
  return found
}

/** The waits that are not implied by others. */
const withoutIndirect = ({ nodes }: StepList, waits: Edges): Dependencies => {
  const reached = reachedBy(nodes, waits)
  return new Map(
    nodes.map((node) => {
      const own = [...(waits.get(node) ?? [])]
      const indirect = own.reduce((all, one) => all | (reached.get(one) ?? 0n), 0n)
      return [node, inOrder(own.filter((one) => (indirect & bit(one)) === 0n || reached.size < nodes.length))] as const
    })
  )
}

const bit = ({ index }: StepNode): bigint => 1n << BigInt(index)

/** What each step waits for, directly or not, as a set of indices. Steps on a cycle, and those that wait for it, have none. */
const reachedBy = (nodes: ReadonlyArray<StepNode>, waits: Edges): ReadonlyMap<StepNode, bigint> => {
  const reached = new Map<StepNode, bigint>()
  for (let size = -1; size < reached.size;) {
    size = reached.size
    for (const node of nodes) {
      const own = [...(waits.get(node) ?? [])]
      if (reached.has(node) || !own.every((one) => reached.has(one))) continue
      reached.set(
        node,
        own.reduce((all, one) => all | bit(one) | (reached.get(one) ?? 0n), 0n)
      )
    }
  }
  return reached
}

/** A step that waits for other steps than before. */
export interface ChangedWait {
  readonly node: StepNode
  readonly before: ReadonlyArray<StepNode>
  readonly now: ReadonlyArray<StepNode>
}

/** The steps that wait for others, directly or not, than they did. Empty if the earlier order has a cycle: it never ran. */
export const changedWaits = (flow: Flow, before: Dependencies, now: Dependencies): ReadonlyArray<ChangedWait> => {
  const changed: Array<ChangedWait> = []
  for (const { nodes } of listsOf(flow)) {
    const [reachedBefore, reachedNow] = [before, now].map((waits) =>
      reachedBy(nodes, new Map(nodes.map((node) => [node, new Set(waits.get(node))])))
    )
    if (reachedBefore === undefined || reachedNow === undefined || reachedBefore.size < nodes.length) return []
    for (const node of nodes)
      if (reachedBefore.get(node) !== reachedNow.get(node))
        changed.push({ node, before: before.get(node) ?? [], now: now.get(node) ?? [] })
  }
  return changed
}
