/** What differs between two versions of a flow, and which steps run anew when a run of it is resumed at a step. */
import { Either } from "effect"
import type { Mistakes } from "../expression/Checks.js"
import type { Json } from "../Json.js"
import { decodeStrict } from "../SchemaIssues.js"
import { orderOf } from "./Dependencies.js"
import { type Flow, flowOf, isLoopBody, ownersOf, type StepNode } from "./Flow.js"
import { FlowSpec } from "./Spec.js"
import { stepTypes } from "./StepTypes.js"
import type { Dependencies } from "./Waits.js"

/** A run of a flow that resumes another. */
export interface FlowResume {
  /** The version that ran, and the version that runs now. */
  readonly from: Json
  readonly to: Json
  /** The generation of the version that runs now. */
  readonly generation: number
  /** The path of a step that runs anew, with the steps that wait for it. */
  readonly fromStep?: string
}

/** What a resumed run takes over, and what it does not. */
export interface ResumedFlow {
  /** The paths of the steps that run anew. */
  readonly anew: ReadonlyArray<string>
  /** The names of steps that differ between the two versions. */
  readonly changed: ReadonlyArray<string>
}

const decode = decodeStrict(FlowSpec)

const readFlow = (document: Json): Flow | undefined =>
  Either.getOrUndefined(Either.flatMap(decode(document), (spec) => flowOf(spec, stepTypes)))

/** Left: the path names no step. */
export const resumeFlow = ({ from, fromStep, generation, to }: FlowResume): Either.Either<ResumedFlow, Mistakes> => {
  const flow = readFlow(to)
  const before = readFlow(from)
  const changed = flow === undefined || before === undefined ? [] : changedSteps(before, flow)
  if (fromStep === undefined) return Either.right({ anew: [], changed })
  const found = flow === undefined ? undefined : findStep(flow, fromStep)
  if (flow === undefined || found === undefined) return Either.left([unknownStep(fromStep, flow)])
  return Either.right({ anew: stepsAnew(found, orderOf(flow, generation).dependencies, fromStep), changed })
}

const unknownStep = (path: string, flow: Flow | undefined) => {
  const named = flow?.byName.get(path.replace(/^.*\./, "").replace(/\[\d+\]$/, ""))
  const example = named === undefined ? undefined : pathPattern(named)
  return {
    path: "fromStep",
    code: "UNKNOWN_STEP",
    message:
      example === undefined
        ? `the version that runs has no step "${path}"`
        : `"${path}" is no place of that step: its path has the form ${example}`
  }
}

/** The loops around a step, from the outside. */
const loopsAround = (node: StepNode): ReadonlyArray<StepNode> =>
  [node, ...ownersOf(node.list)]
    .flatMap(({ list }) => (isLoopBody(list) && list.owner !== undefined ? [list.owner] : []))
    .toReversed()

/** How the paths of a step are written: `each[0].send`. */
export const pathPattern = (node: StepNode): string =>
  [...loopsAround(node).map(({ step }) => `${step.name}[0]`), node.step.name].join(".")

/** The step at a path, which has the iteration of each loop around it. */
const findStep = (flow: Flow, path: string): StepNode | undefined => {
  const parts = path.split(".")
  const node = flow.byName.get(parts.at(-1) ?? "")
  if (node === undefined) return undefined
  const pattern = [...loopsAround(node).map(({ step }) => `${step.name}[]`), node.step.name].join(".")
  return path.replaceAll(/\[\d{1,5}\]/g, "[]") === pattern ? node : undefined
}

/** The paths of a step, and of what stands inside of it without the name of the step in its path. */
const pathsWithin = (node: StepNode, prefix: string): ReadonlyArray<string> => [
  `${prefix}${node.step.name}`,
  ...node.lists.flatMap((list) => (isLoopBody(list) ? [] : list.nodes.flatMap((inner) => pathsWithin(inner, prefix))))
]

/** The steps of the list that wait for one of these, directly or not. */
const dependantsOf = (node: StepNode, dependencies: Dependencies): ReadonlyArray<StepNode> => {
  const found = new Set([node])
  let before = 0
  while (found.size > before) {
    before = found.size
    for (const one of node.list.nodes) if (dependencies.get(one)?.some((other) => found.has(other))) found.add(one)
  }
  return [...found].filter((one) => one !== node)
}

/** A step, its dependants, and those of the steps around it: they read what it gives by way of these. */
const stepsAnew = (node: StepNode, dependencies: Dependencies, path: string): ReadonlyArray<string> => {
  const paths: Array<string> = []
  let prefix = path.slice(0, path.length - node.step.name.length)
  paths.push(...pathsWithin(node, prefix))
  for (const one of [node, ...ownersOf(node.list)]) {
    for (const dependant of dependantsOf(one, dependencies)) paths.push(...pathsWithin(dependant, prefix))
    // A loop's body has the loop and the iteration before its names.
    if (isLoopBody(one.list)) prefix = prefix.replace(/[^.]*\.$/, "")
  }
  return paths
}

/** The steps of both versions that differ, but for the steps inside of them. */
const changedSteps = (before: Flow, after: Flow): ReadonlyArray<string> =>
  after.nodes.flatMap((node) => {
    const earlier = before.byName.get(node.step.name)
    return earlier === undefined || ownText(earlier) === ownText(node) ? [] : [node.step.name]
  })

/** How the steps of two versions differ, by their names. */
export interface StepChanges {
  readonly added: ReadonlyArray<string>
  readonly removed: ReadonlyArray<string>
  readonly changed: ReadonlyArray<string>
}

/** Compares two versions step by step. A step that stands elsewhere in the document has not changed by that. */
export const compareFlows = ({ from, to }: Pick<FlowResume, "from" | "to">): StepChanges => {
  const [before, after] = [readFlow(from), readFlow(to)]
  if (before === undefined || after === undefined) return { added: [], removed: [], changed: [] }
  const missingIn = (flow: Flow, other: Flow) => [...flow.byName.keys()].filter((name) => !other.byName.has(name))
  return {
    added: missingIn(after, before),
    removed: missingIn(before, after),
    changed: changedSteps(before, after)
  }
}

/** A step as text, without the steps inside of it. */
const ownText = ({ shape, step }: StepNode): string => {
  const inner = new Set<unknown>(shape.groups.map(({ steps }) => steps))
  return JSON.stringify(step, (_, value: unknown) => (inner.has(value) ? undefined : value))
}
