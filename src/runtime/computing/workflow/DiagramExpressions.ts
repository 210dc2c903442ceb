/** Draws an expression in the diagram: its calls in the order in which they run. */
import type { AnyNode, CallExpression } from "acorn"
import type { DiagramBuilder, Ends } from "./DiagramBuilder.js"
import type { Steps } from "./Steps.js"
import { children, excerpt, type FunctionNode, isFunction } from "./Syntax.js"

/** What the functions that draw one workflow share. */
export interface DiagramContext {
  readonly source: string
  readonly builder: DiagramBuilder
  readonly steps: Steps
  /** Local functions that are drawn already: each is drawn once, at its first call. */
  readonly drawnFunctions: Set<FunctionNode>
  /** Draws the body of a local function at its call, and returns its loose ends. */
  readonly drawBody: (callee: FunctionNode, from: Ends) => Ends
}

/** Draws the steps of an expression, and returns the loose ends from which control continues. */
export const drawExpression = (context: DiagramContext, node: AnyNode | null | undefined, from: Ends): Ends => {
  if (node === null || node === undefined || !context.steps.hasStep(node)) return from
  switch (node.type) {
    case "CallExpression":
      return drawCall(context, node, from)
    case "ConditionalExpression": {
      const testEnds = drawExpression(context, node.test, from)
      if (!context.steps.hasStep(node.consequent) && !context.steps.hasStep(node.alternate)) return testEnds
      const id = context.builder.addNode("branch", excerpt(context.source, node.test, 40), testEnds, node)
      return [
        ...drawExpression(context, node.consequent, [{ id, label: "yes" }]),
        ...drawExpression(context, node.alternate, [{ id, label: "no" }])
      ]
    }
    case "LogicalExpression": {
      const left = drawExpression(context, node.left, from)
      if (!context.steps.hasStep(node.right)) return left
      const id = context.builder.addNode("branch", excerpt(context.source, node.left, 40), left, node)
      const [runLabel, skipLabel] = node.operator === "&&" ? ["yes", "no"] : ["no", "yes"]
      return [...drawExpression(context, node.right, [{ id, label: runLabel }]), { id, label: skipLabel }]
    }
    case "NewExpression":
      return drawWithCallbacks(context, node, from)
    case "ArrowFunctionExpression":
    case "FunctionExpression":
    case "FunctionDeclaration":
      return from
    default:
      return children(node).reduce<Ends>((ends, child) => drawExpression(context, child, ends), from)
  }
}

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

const drawCall = (context: DiagramContext, call: CallExpression, from: Ends): Ends => {
  const { builder, steps, source } = context
  const step = steps.stepOf(call)
  if (step !== undefined) {
    const ends = call.arguments
      .filter((argument) => !isFunction(argument))
      .reduce<Ends>((argumentEnds, argument) => drawExpression(context, argument, argumentEnds), from)
    return [{ id: builder.addNode(step.kind, step.label, ends, call) }]
  }
  const method =
    call.callee.type === "MemberExpression" && call.callee.property.type === "Identifier"
      ? call.callee.property.name
      : ""
  const object = call.callee.type === "MemberExpression" ? call.callee.object : undefined
  const joinLabel =
    object?.type === "Identifier" && object.name === "Promise" ? combinatorLabels.get(method) : undefined
  if (joinLabel !== undefined) return drawParallel(context, call, method, joinLabel, from)

  const callback = call.arguments
    .flatMap((argument) => (isFunction(argument) && steps.hasStep(argument.body) ? [argument] : []))
    .at(0)
  if (callback !== undefined && chainMethods.has(method)) {
    return context.drawBody(callback, drawExpression(context, object, from))
  }
  if (callback !== undefined && iterationMethods.has(method)) {
    const over = method === "from" ? call.arguments[0] : object
    const id = builder.addNode(
      "loop",
      over === undefined ? "each" : `each of ${excerpt(source, over, 30)}`,
      drawExpression(context, object, from),
      call
    )
    return closeLoop(builder, id, context.drawBody(callback, [{ id, label: "each" }]))
  }
  const callee = steps.calleeWithSteps(call)
  if (callee !== undefined) {
    const ends = call.arguments.reduce<Ends>(
      (argumentEnds, argument) => drawExpression(context, argument, argumentEnds),
      from
    )
    const id = builder.addNode("call", `${excerpt(source, call.callee, 30)}()`, ends, call)
    if (context.drawnFunctions.has(callee) || builder.isFull()) return [{ id }]
    context.drawnFunctions.add(callee)
    return context.drawBody(callee, [{ id }])
  }
  return drawWithCallbacks(context, call, from)
}

/**
 * Draws callbacks of functions that the analysis does not know, e.g. `new Promise((done) => setTimeout(done, 1000))`,
 * as if they ran once.
 */
const drawWithCallbacks = (context: DiagramContext, node: AnyNode, from: Ends): Ends =>
  children(node).reduce<Ends>(
    (ends, child) =>
      isFunction(child) && context.steps.hasStep(child.body)
        ? context.drawBody(child, ends)
        : drawExpression(context, child, ends),
    from
  )

/** Adds edges from the loop body's loose ends back to the head, and returns the loose end that leaves the loop. */
export const closeLoop = (builder: DiagramBuilder, head: string, ends: Ends): Ends => {
  for (const end of ends) builder.addEdge({ from: end.id, to: head, label: end.label ?? "next", back: true })
  return [{ id: head, label: "done" }]
}

const drawParallel = (
  context: DiagramContext,
  call: CallExpression,
  method: string,
  joinLabel: string,
  from: Ends
): Ends => {
  const { builder } = context
  const [list] = call.arguments
  const id = builder.addNode("parallel", `Promise.${method}`, from, call)
  const branches = list?.type === "ArrayExpression" ? list.elements : [list]
  const ends = branches.flatMap((branch) =>
    branch !== null && branch !== undefined && context.steps.hasStep(branch)
      ? drawExpression(context, branch, [{ id }])
      : []
  )
  return [{ id: builder.addNode("join", joinLabel, ends.length > 0 ? ends : [{ id }]) }]
}
