/** Which parts of the code a diagram shows: what leaves the guest, waits, or leads to something that does. */
import type { AnyNode, CallExpression } from "acorn"
import { hostPath, type ScopeNames } from "./ScopeNames.js"
import { constantText, type FunctionNode, isFunction, type Tree } from "./Syntax.js"

export interface Step {
  readonly kind: string
  readonly label: string
}

export interface Steps {
  /** What a call does outside of the guest, if anything. */
  readonly stepOf: (call: CallExpression) => Step | undefined
  /** The local function that a call enters, if it holds steps. */
  readonly entered: (call: CallExpression) => FunctionNode | undefined
  /** Whether anything below the node is a step. */
  readonly within: (node: AnyNode | null | undefined) => boolean
  /** Whether the node may leave the function, the loop or the block that it stands in. */
  readonly leaves: (node: AnyNode | null | undefined) => boolean
}

export const stepsOf = (tree: Tree, names: ScopeNames): Steps => {
  const stepOf = (call: CallExpression): Step | undefined => {
    const path = hostPath(names, call.callee)
    if (path !== undefined) {
      const [kind = "", ...members] = path
      const subject = named.has(kind) ? constantText(call.arguments[0]) : undefined
      return { kind, label: [members.join("."), ...(subject === undefined ? [] : [subject])].join(" ") }
    }
    if (call.callee.type !== "Identifier") return undefined
    if (call.callee.name === "fetch") return { kind: "fetch", label: constantText(call.arguments[0]) ?? "fetch" }
    if (call.callee.name !== "setTimeout") return undefined
    const millis = constantText(call.arguments[1])
    return { kind: "wait", label: millis === undefined ? "wait" : `wait ${millis} ms` }
  }

  const { holding, leaving } = marks(tree, names, (call) => stepOf(call) !== undefined)
  return {
    stepOf,
    entered: (call) => {
      const callee = call.callee.type === "Identifier" ? names.functionOf(call.callee.name) : undefined
      return callee !== undefined && holding.has(callee) ? callee : undefined
    },
    within: (node) => node !== null && node !== undefined && holding.has(node),
    leaves: (node) => node !== null && node !== undefined && leaving.has(node)
  }
}

/** Which nodes hold a step, also through local functions, and which can leave what they stand in. */
const marks = (tree: Tree, names: ScopeNames, isStep: (call: CallExpression) => boolean) => {
  const holding = new Set<AnyNode>()
  const leaving = new Set<AnyNode>()
  const callsTo = new Map<AnyNode, Array<number>>()
  const entered: Array<AnyNode> = []

  /** Marks a node and all above it; whatever is marked already has its parents marked too, so all marking is linear. */
  const hold = (index: number) => {
    for (let at = index; at >= 0; at = tree.parents[at] ?? -1) {
      const node = tree.nodes[at]
      if (node === undefined || holding.has(node)) return
      holding.add(node)
      if (isFunction(node)) entered.push(node)
    }
  }

  tree.nodes.forEach((node, index) => {
    if (node.type === "CallExpression") {
      if (isStep(node)) hold(index)
      const callee = node.callee.type === "Identifier" ? names.functionOf(node.callee.name) : undefined
      if (callee !== undefined) {
        const calls = callsTo.get(callee)
        if (calls === undefined) callsTo.set(callee, [index])
        else calls.push(index)
      }
    } else if (exits.has(node.type)) {
      for (let at = index; at >= 0; at = tree.parents[at] ?? -1) {
        const above = tree.nodes[at]
        if (above === undefined || isFunction(above) || leaving.has(above)) break
        leaving.add(above)
      }
    }
  })
  for (let callee = entered.pop(); callee !== undefined; callee = entered.pop()) callsTo.get(callee)?.forEach(hold)
  return { holding, leaving }
}

/** Services whose first argument names what the call is about. */
const named: ReadonlySet<string> = new Set(["state", "secrets", "envConfig"])

const exits: ReadonlySet<string> = new Set(["ReturnStatement", "ThrowStatement", "BreakStatement", "ContinueStatement"])
