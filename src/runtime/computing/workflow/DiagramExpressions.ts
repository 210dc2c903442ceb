/** Draws an expression in the diagram: its calls in the order in which they run. */
import type { AnyNode, CallExpression } from "acorn"
import type { DiagramBuilder, Ends } from "./DiagramBuilder.js"
import type { Steps } from "./Steps.js"
import { children, excerpt, type FunctionNode, isFunction } from "./Syntax.js"

const combinatorLabels: ReadonlyMap<string, string> = new Map(
  Object.entries({
    all: "all done",
    allSettled: "all settled",
    race: "first done",
    any: "first success"
  })
)
const iterationMethods: ReadonlySet<string> = new Set([
  "map",
  "forEach",
  "flatMap",
  "filter",
  "reduce",
  "reduceRight",
  "some",
  "every",
  "find",
  "findIndex",
  "from"
])
const chainMethods: ReadonlySet<string> = new Set(["then", "catch", "finally"])

/** Adds edges from the loop body's loose ends back to the head, and returns the loose end that leaves the loop. */
export const closeLoop = (builder: DiagramBuilder, head: string, ends: Ends): Ends => {
  for (const end of ends) builder.addEdge({ from: end.id, to: head, label: end.label ?? "next", back: true })
  return [{ id: head, label: "done" }]
}

/**
 * Draws the expressions of one workflow. `drawBody` draws the body of a local function at its call, and returns its loose
 * ends.
 */
export const makeExpressionDrawing = (
  source: string,
  builder: DiagramBuilder,
  steps: Steps,
  drawBody: (callee: FunctionNode, from: Ends) => Ends
) => {
  /** Each local function is drawn once, at its first call. */
  const drawnFunctions = new Set<FunctionNode>()

  /** Draws the steps of an expression, and returns the loose ends from which control continues. */
  const drawExpression = (node: AnyNode | null | undefined, from: Ends): Ends => {
    if (node === null || node === undefined || !steps.hasStep(node)) return from
    switch (node.type) {
      case "CallExpression":
        return drawCall(node, from)
      case "ConditionalExpression": {
        const testEnds = drawExpression(node.test, from)
        if (!steps.hasStep(node.consequent) && !steps.hasStep(node.alternate)) return testEnds
        const id = builder.addNode("branch", excerpt(source, node.test, 40), testEnds, node)
        return [
          ...drawExpression(node.consequent, [{ id, label: "yes" }]),
          ...drawExpression(node.alternate, [{ id, label: "no" }])
        ]
      }
      case "LogicalExpression": {
        const left = drawExpression(node.left, from)
        if (!steps.hasStep(node.right)) return left
        const id = builder.addNode("branch", excerpt(source, node.left, 40), left, node)
        const [runLabel, skipLabel] = node.operator === "&&" ? ["yes", "no"] : ["no", "yes"]
        return [...drawExpression(node.right, [{ id, label: runLabel }]), { id, label: skipLabel }]
      }
      case "NewExpression":
        return drawWithCallbacks(node, from)
      case "ArrowFunctionExpression":
      case "FunctionExpression":
      case "FunctionDeclaration":
        return from
      default:
        return children(node).reduce<Ends>((ends, child) => drawExpression(child, ends), from)
    }
  }

  const drawCall = (call: CallExpression, from: Ends): Ends => {
    const step = steps.stepOf(call)
    if (step !== undefined) {
      const ends = call.arguments
        .filter((argument) => !isFunction(argument))
        .reduce<Ends>((argumentEnds, argument) => drawExpression(argument, argumentEnds), from)
      return [{ id: builder.addNode(step.kind, step.label, ends, call) }]
    }
    const method =
      call.callee.type === "MemberExpression" && call.callee.property.type === "Identifier"
        ? call.callee.property.name
        : ""
    const object = call.callee.type === "MemberExpression" ? call.callee.object : undefined
    const joinLabel =
      object?.type === "Identifier" && object.name === "Promise" ? combinatorLabels.get(method) : undefined
    if (joinLabel !== undefined) return drawParallel(call, method, joinLabel, from)

    const callback = call.arguments
      .flatMap((argument) => (isFunction(argument) && steps.hasStep(argument.body) ? [argument] : []))
      .at(0)
    if (callback !== undefined && chainMethods.has(method)) {
      return drawBody(callback, drawExpression(object, from))
    }
    if (callback !== undefined && iterationMethods.has(method)) {
      const over = method === "from" ? call.arguments[0] : object
      const id = builder.addNode(
        "loop",
        over === undefined ? "each" : `each of ${excerpt(source, over, 30)}`,
        drawExpression(object, from),
        call
      )
      return closeLoop(builder, id, drawBody(callback, [{ id, label: "each" }]))
    }
    const callee = steps.calleeWithSteps(call)
    if (callee !== undefined) {
      const ends = call.arguments.reduce<Ends>((argumentEnds, argument) => drawExpression(argument, argumentEnds), from)
      const id = builder.addNode("call", `${excerpt(source, call.callee, 30)}()`, ends, call)
      if (drawnFunctions.has(callee) || builder.isFull()) return [{ id }]
      drawnFunctions.add(callee)
      return drawBody(callee, [{ id }])
    }
    return drawWithCallbacks(call, from)
  }

  /**
   * Draws callbacks of functions that the analysis does not know, e.g. `new Promise((done) => setTimeout(done, 1000))`,
   * as if they ran once.
   */
  const drawWithCallbacks = (node: AnyNode, from: Ends): Ends =>
    children(node).reduce<Ends>(
      (ends, child) =>
        isFunction(child) && steps.hasStep(child.body) ? drawBody(child, ends) : drawExpression(child, ends),
      from
    )

  const drawParallel = (call: CallExpression, method: string, joinLabel: string, from: Ends): Ends => {
    const [list] = call.arguments
    const id = builder.addNode("parallel", `Promise.${method}`, from, call)
    const branches = list?.type === "ArrayExpression" ? list.elements : [list]
    const ends = branches.flatMap((branch) =>
      branch !== null && branch !== undefined && steps.hasStep(branch) ? drawExpression(branch, [{ id }]) : []
    )
    return [{ id: builder.addNode("join", joinLabel, ends.length > 0 ? ends : [{ id }]) }]
  }

  return drawExpression
}
