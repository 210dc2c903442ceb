/** Finds the parts of the code that a diagram shows: host calls, waits, and the code that contains or calls them. */
import type { AnyNode, CallExpression } from "acorn"
import { hostPath, type ScopeNames } from "./ScopeNames.js"
import { constantText, type FunctionNode, isFunction, type Tree } from "./Syntax.js"

export interface Step {
  readonly kind: string
  readonly label: string
}

export interface Steps {
  /** The step that a call is, if it leaves the guest or waits. */
  readonly stepOf: (call: CallExpression) => Step | undefined
  /** The local function that a call enters, if that function contains steps. */
  readonly calleeWithSteps: (call: CallExpression) => FunctionNode | undefined
  /** Whether the node is or contains a step. */
  readonly hasStep: (node: AnyNode | null | undefined) => boolean
  /** Whether the node may leave the function, loop or block that contains it. */
  readonly canLeave: (node: AnyNode | null | undefined) => boolean
}

export const findSteps = (tree: Tree, names: ScopeNames): Steps => {
  const stepOf = (call: CallExpression): Step | undefined => {
    const path = hostPath(names, call.callee)
    if (path !== undefined) {
      const [kind = "", ...members] = path
      const subject = servicesWithSubject.has(kind) ? constantText(call.arguments[0]) : undefined
      return { kind, label: [members.join("."), ...(subject === undefined ? [] : [subject])].join(" ") }
    }
    if (call.callee.type !== "Identifier") return undefined
    if (call.callee.name === "fetch") return { kind: "fetch", label: constantText(call.arguments[0]) ?? "fetch" }
    if (call.callee.name !== "setTimeout") return undefined
    const millis = constantText(call.arguments[1])
    return { kind: "wait", label: millis === undefined ? "wait" : `wait ${millis} ms` }
  }

  const { nodesWithSteps, leavingNodes } = markNodes(tree, names, (call) => stepOf(call) !== undefined)
  return {
    stepOf,
    calleeWithSteps: (call) => {
      const callee = call.callee.type === "Identifier" ? names.functionOf(call.callee.name) : undefined
      return callee !== undefined && nodesWithSteps.has(callee) ? callee : undefined
    },
    hasStep: (node) => node !== null && node !== undefined && nodesWithSteps.has(node),
    canLeave: (node) => node !== null && node !== undefined && leavingNodes.has(node)
  }
}

/** Finds the nodes that contain a step, also through calls of local functions, and the nodes with a jump or an exit. */
const markNodes = (tree: Tree, names: ScopeNames, isStep: (call: CallExpression) => boolean) => {
  const nodesWithSteps = new Set<AnyNode>()
  const leavingNodes = new Set<AnyNode>()
  const callsTo = new Map<AnyNode, Array<number>>()
  const unvisited: Array<AnyNode> = []

  /**
   * Marks a node and its ancestors. The ancestors of a marked node are marked too, so that all calls together take
   * linear time.
   */
  const markWithParents = (index: number) => {
    for (let at = index; at >= 0; at = tree.parents[at] ?? -1) {
      const node = tree.nodes[at]
      if (node === undefined || nodesWithSteps.has(node)) return
      nodesWithSteps.add(node)
      if (isFunction(node)) unvisited.push(node)
    }
  }

  tree.nodes.forEach((node, index) => {
    if (node.type === "CallExpression") {
      if (isStep(node)) markWithParents(index)
      const callee = node.callee.type === "Identifier" ? names.functionOf(node.callee.name) : undefined
      if (callee !== undefined) {
        const calls = callsTo.get(callee)
        if (calls === undefined) callsTo.set(callee, [index])
        else calls.push(index)
      }
    } else if (exitTypes.has(node.type)) {
      for (let at = index; at >= 0; at = tree.parents[at] ?? -1) {
        const ancestor = tree.nodes[at]
        if (ancestor === undefined || isFunction(ancestor) || leavingNodes.has(ancestor)) break
        leavingNodes.add(ancestor)
      }
    }
  })
  for (let callee = unvisited.pop(); callee !== undefined; callee = unvisited.pop())
    callsTo.get(callee)?.forEach(markWithParents)
  return { nodesWithSteps, leavingNodes }
}

/** Services whose first argument names the subject of the call. */
const servicesWithSubject: ReadonlySet<string> = new Set(["state", "secrets", "envConfig"])

const exitTypes: ReadonlySet<string> = new Set([
  "ReturnStatement",
  "ThrowStatement",
  "BreakStatement",
  "ContinueStatement"
])
