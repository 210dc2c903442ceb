/**
 * What the steps of a flow read and name, and the order that follows. A step inside of another makes the outer one wait for
 * what is outside of that. A gate comes before the steps that it may skip.
 */
import type { Mistakes } from "../expression/Checks.js"
import type { ExpressionPlace } from "./StepType.js"
import { type Flow, isLoopBody, isWithin, liftedTo, ownersOf, type StepList, type StepNode } from "./Flow.js"
import { conditionReferences, type Reference, type References, templateReferences } from "../expression/References.js"
import { mappingReferences } from "../mapping/MappingChecks.js"
import { presentGeneration } from "./Generation.js"
import { type Dependencies, type Edges, listsOf, waitsOf, waitsOfFirstGeneration } from "./Waits.js"

/** What a flow's steps wait for, and the mistakes in what they read. */
export interface Ordering {
  readonly dependencies: Dependencies
  readonly edges: Edges
  /** By loop: the names of steps outside of it that the steps inside read. */
  readonly reads: ReadonlyMap<StepNode, ReadonlyArray<string>>
  readonly mistakes: Mistakes
}

/** The flow's order. Its mistakes: unknown names, names that are out of scope, and cycles. */
export const orderOf = (flow: Flow, generation = presentGeneration): Ordering => {
  const order = new Order(flow)
  for (const node of flow.nodes) order.add(node)
  const { edges } = order
  const dependencies = generation === 1 ? waitsOfFirstGeneration(edges) : waitsOf(flow, edges)
  const reads = new Map([...order.reads].map(([loop, names]) => [loop, [...names]] as const))
  return { dependencies, edges, reads, mistakes: [...order.mistakes, ...cycleMistakes(flow, edges)] }
}

/** Collects what steps read and name. */
class Order {
  readonly mistakes: Array<Mistakes[number]> = []
  readonly reads = new Map<StepNode, Set<string>>()
  readonly edges: ReadonlyMap<StepNode, Set<StepNode>>

  constructor(private readonly flow: Flow) {
    this.edges = new Map(flow.nodes.map((node) => [node, new Set()]))
  }

  /** Adds what a step reads, names and skips. */
  add(node: StepNode): void {
    const { mistakes, readings } = readingsOf(node)
    this.mistakes.push(...mistakes)
    for (const reading of readings) this.addReading(node, reading)
    for (const [i, name] of (node.step.dependsOn ?? []).entries()) {
      const found = this.find(node, node.list, name, `${node.path}.dependsOn[${i}]`)
      if (found !== undefined) this.waitFor(node, found)
    }
    for (const { name, path } of node.shape.skips ?? []) this.addSkip(node, name, `${node.path}.${path}`)
  }

  private addReading(node: StepNode, { at, path, roots, scope }: PlacedReading): void {
    const [root, name, member] = path
    if (root !== "steps") {
      const problem = rootProblem(scope, roots, String(root))
      return problem === undefined ? undefined : this.refuse(at, "UNKNOWN_NAME", problem)
    }
    if (typeof name !== "string" || (member !== "output" && member !== "error"))
      return this.refuse(at, "INVALID_PATH", "of a step, output or error is read: steps.<name>.output")
    const found = this.find(node, scope, name, at)
    if (found === undefined) return
    // Most flows have steps outside of loops only.
    for (const loop of scope.owner === undefined ? [] : loopsBetween(scope, found)) {
      const names = this.reads.get(loop)
      if (names === undefined) this.reads.set(loop, new Set([name]))
      else names.add(name)
    }
    // The result of a loop's iteration reads steps inside of the loop, which have ended by then.
    if (scope === node.list || !isWithin(found, scope)) this.waitFor(node, found)
  }

  /** A step that a gate's branch may skip waits for the gate. */
  private addSkip(gate: StepNode, name: string, at: string): void {
    const skipped = gate.list.nodes.find((one) => one.step.name === name)
    if (skipped === undefined || skipped === gate)
      this.refuse(at, "UNKNOWN_STEP", `"${name}" is not another step of the list in which the gate stands`)
    else this.edges.get(skipped)?.add(gate)
  }

  /** Lets the steps around `from` wait for `to`, where they share a list. */
  private waitFor(from: StepNode, to: StepNode): void {
    for (const one of [from, ...ownersOf(from.list)]) {
      const lifted = liftedTo(to, one.list)
      if (lifted === undefined) continue
      if (lifted !== one) this.edges.get(one)?.add(lifted)
      return
    }
  }

  /** A step by a name that `from` uses in a list; `undefined` with a mistake if it cannot. */
  private find(from: StepNode, list: StepList, name: string, at: string): StepNode | undefined {
    const found = this.flow.byName.get(name)
    if (found === undefined) return this.refuse(at, "UNKNOWN_STEP", `there is no step "${name}"`)
    const loop =
      found.list.owner === undefined
        ? undefined
        : [found, ...ownersOf(found.list)].find((one) => isLoopBody(one.list) && !isInside(list, one.list))
    if (loop !== undefined) {
      const owner = loop.list.owner?.step.name ?? ""
      const message = `"${name}" runs once for each item of "${owner}" and can be read inside of that loop only`
      return this.refuse(at, "OUT_OF_SCOPE", message)
    }
    const readsOwnSteps = list === from.list && isInside(found.list, ...from.lists)
    if (found === from || isInside(from.list, ...found.lists) || readsOwnSteps)
      return this.refuse(at, "CYCLE_DETECTED", `"${from.step.name}" waits for itself`)
    return found
  }

  private refuse(path: string, code: string, message: string): undefined {
    this.mistakes.push({ path, code, message })
  }
}

/** The loops around a list that a step is outside of. */
const loopsBetween = (list: StepList, read: StepNode): ReadonlyArray<StepNode> => {
  const around = [list, ...ownersOf(list).map((owner) => owner.list)]
  return around.flatMap((one) =>
    isLoopBody(one) && one.owner !== undefined && !isWithin(read, one) ? [one.owner] : []
  )
}

const isInside = (list: StepList, ...outer: ReadonlyArray<StepList>): boolean =>
  outer.includes(list) || (list.owner !== undefined && isInside(list.owner.list, ...outer))

// --- Readings ---

interface PlacedReading extends Reference {
  /** The list whose names the expression can use, and further roots. */
  readonly scope: StepList
  readonly roots: ReadonlyArray<string>
}

const referencesOf = (place: ExpressionPlace, at: string): References => {
  if ("condition" in place) return conditionReferences(place.condition, at)
  return "mapping" in place ? mappingReferences(place.mapping, at) : templateReferences(place.value, at)
}

/** All that the expressions of a step read, beside those of the steps inside of it. */
const readingsOf = ({ list, lists, path, shape, step }: StepNode) => {
  const { input, mapping, when = null } = step
  const places: ReadonlyArray<ExpressionPlace> = [
    ...(input === undefined ? [] : [{ path: "input", value: input }]),
    ...(mapping === undefined ? [] : [{ path: "mapping", mapping }]),
    ...(when === null ? [] : [{ path: "when", condition: when }]),
    ...shape.expressions
  ]
  const readings: Array<PlacedReading> = []
  const mistakes: Array<Mistakes[number]> = []
  for (const place of places) {
    const found = referencesOf(place, `${path}.${place.path}`)
    mistakes.push(...found.mistakes)
    const scope = place.group === undefined ? list : (lists[place.group] ?? list)
    const roots = "condition" in place ? (place.roots ?? []) : []
    for (const reference of found.references) readings.push({ ...reference, scope, roots })
  }
  return { mistakes, readings }
}

/** Why an expression in a list cannot read a root; `undefined` if it can. */
const rootProblem = (list: StepList, more: ReadonlyArray<string>, root: string): string | undefined => {
  const variables = [list, ...ownersOf(list).map((owner) => owner.list)].flatMap((one) => one.group?.variables ?? [])
  const roots = ["input", "trigger", "steps", ...variables, ...more]
  return roots.includes(root) ? undefined : `"${root}" cannot be read here: there are ${roots.join(", ")}`
}

// --- Cycles ---

/** One mistake for each list with a cycle, which names the steps on it. */
const cycleMistakes = (flow: Flow, edges: Edges): Mistakes =>
  listsOf(flow).flatMap((list) => {
    const cycle = findCycle(list, edges)
    const [first] = cycle
    return first === undefined
      ? []
      : [
          {
            path: first.path,
            code: "CYCLE_DETECTED",
            message: `these steps wait for each other: ${[...cycle, first].map(({ step }) => step.name).join(" → ")}`
          }
        ]
  })

/** The steps on a cycle, each waiting for the next; empty without one. */
const findCycle = (list: StepList, edges: Edges): ReadonlyArray<StepNode> => {
  const done = new Set<StepNode>()
  for (const start of list.nodes) {
    const trail: Array<{ readonly node: StepNode; readonly waits: ReadonlyArray<StepNode>; next: number }> = []
    const onTrail = new Set<StepNode>()
    const enter = (node: StepNode): void => {
      trail.push({ node, waits: [...(edges.get(node) ?? [])], next: 0 })
      onTrail.add(node)
    }
    if (!done.has(start)) enter(start)
    for (let top = trail.at(-1); top !== undefined; top = trail.at(-1)) {
      const next = top.waits[top.next++]
      if (next === undefined) {
        trail.pop()
        onTrail.delete(top.node)
        done.add(top.node)
      } else if (onTrail.has(next)) {
        const nodes = trail.map(({ node }) => node)
        return nodes.slice(nodes.indexOf(next))
      } else if (!done.has(next)) enter(next)
    }
  }
  return []
}

/** The list's steps in an order in which each comes after all that it waits for. The flow has no cycle. */
export const startOrder = (list: StepList, dependencies: Dependencies): ReadonlyArray<StepNode> => {
  const ordered: Array<StepNode> = []
  const placed = new Set<StepNode>()
  let left = [...list.nodes]
  while (left.length > 0) {
    const ready = left.filter((node) => (dependencies.get(node) ?? []).every((one) => placed.has(one)))
    if (ready.length === 0) break
    for (const node of ready) {
      placed.add(node)
      ordered.push(node)
    }
    left = left.filter((node) => !placed.has(node))
  }
  return ordered
}
