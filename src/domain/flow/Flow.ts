/**
 * A flow's steps as a tree of lists: each step with its meaning and its place in the document. A list is the flow's own, a
 * branch of a gate, or the body of a loop.
 */
import { Either } from "effect"
import { flowLimits, type FlowSpec, type FlowStep } from "./Spec.js"
import type { Mistakes } from "../expression/Checks.js"
import type { StepGroup, StepShape, StepType } from "./StepType.js"

/** A step in its list, with what its type says of it. */
export interface StepNode {
  readonly step: FlowStep
  readonly type: StepType
  readonly shape: StepShape
  /** Its place in the document: `steps[2].config.branches[0].steps[1]`. */
  readonly path: string
  readonly list: StepList
  readonly index: number
  /** The lists inside of it, one for each group of its shape. */
  readonly lists: ReadonlyArray<StepList>
}

export interface StepList {
  /** The step that contains the list; `undefined` for the flow's own. */
  readonly owner: StepNode | undefined
  readonly group: StepGroup | undefined
  readonly nodes: ReadonlyArray<StepNode>
}

/** A flow whose steps have a form. */
export interface Flow {
  readonly spec: FlowSpec
  readonly root: StepList
  readonly byName: ReadonlyMap<string, StepNode>
  /** All steps, outer ones first. */
  readonly nodes: ReadonlyArray<StepNode>
}

/** Whether steps of the list run once for each item. */
export const isLoopBody = (list: StepList): boolean => (list.group?.variables.length ?? 0) > 0

/** The steps around a list, from the inside. */
export const ownersOf = (list: StepList): ReadonlyArray<StepNode> =>
  list.owner === undefined ? [] : [list.owner, ...ownersOf(list.owner.list)]

/** Whether a step is in the list, or inside of one of its steps. */
export const isWithin = (node: StepNode, list: StepList): boolean =>
  node.list === list || ownersOf(node.list).some((owner) => owner.list === list)

/** The step of the list that is or contains the node; `undefined` if none does. */
export const liftedTo = (node: StepNode, list: StepList): StepNode | undefined =>
  node.list === list ? node : ownersOf(node.list).find((owner) => owner.list === list)

const prefixed = (path: string, mistakes: Mistakes): Mistakes =>
  mistakes.map((one) => ({ ...one, path: one.path === "" ? path : `${path}.${one.path}` }))

/** The tree of a flow. Left: mistakes of its steps' form, names and limits. */
export const flowOf = (spec: FlowSpec, types: ReadonlyArray<StepType>): Either.Either<Flow, Mistakes> => {
  const rows = new Map(types.map((row) => [row.type, row]))
  const byName = new Map<string, StepNode>()
  const seen = new Set<string>()
  const nodes: Array<StepNode> = []
  const mistakes: Array<Mistakes[number]> = []
  let count = 0

  const nodeOf = (step: FlowStep, path: string, list: StepList, index: number, depth: number): StepNode | undefined => {
    count++
    if (seen.has(step.name))
      mistakes.push({ path: `${path}.name`, code: "DUPLICATE", message: `"${step.name}" is the name of another step` })
    seen.add(step.name)
    const type = rows.get(step.type)
    if (type === undefined) {
      mistakes.push({
        path: `${path}.type`,
        code: "UNKNOWN_NAME",
        message: `must be one of ${[...rows.keys()].join(", ")}`
      })
      return undefined
    }
    const shape = type.shapeOf(step)
    if ("issues" in shape) {
      mistakes.push(...prefixed(path, shape.issues))
      return undefined
    }
    mistakes.push(...prefixed(path, shape.mistakes))
    const lists: Array<StepList> = []
    const node: StepNode = { step, type, shape, path, list, index, lists }
    nodes.push(node)
    if (!byName.has(step.name)) byName.set(step.name, node)
    if (shape.groups.length > 0 && depth >= flowLimits.nesting)
      mistakes.push({ path, code: "OUT_OF_RANGE", message: `steps nest at most ${flowLimits.nesting} deep` })
    else
      for (const group of shape.groups) lists.push(listOf(group.steps, `${path}.${group.path}`, node, group, depth + 1))
    return node
  }

  const listOf = (
    steps: ReadonlyArray<FlowStep>,
    path: string,
    owner: StepNode | undefined,
    group: StepGroup | undefined,
    depth: number
  ): StepList => {
    const own: Array<StepNode> = []
    const list: StepList = { owner, group, nodes: own }
    for (const [index, step] of steps.entries()) {
      const node = nodeOf(step, `${path}[${index}]`, list, own.length, depth)
      if (node !== undefined) own.push(node)
    }
    return list
  }

  const root = listOf(spec.steps, "steps", undefined, undefined, 1)
  if (count > flowLimits.steps)
    mistakes.push({
      path: "steps",
      code: "OUT_OF_RANGE",
      message: `a flow has at most ${flowLimits.steps} steps, this one ${count}`
    })
  return mistakes.length > 0 ? Either.left(mistakes) : Either.right({ spec, root, byName, nodes })
}
