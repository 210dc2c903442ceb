/** How an expression appears in the diagram: its calls in the order in which they run. */
import type { AnyNode, CallExpression } from "acorn"
import type { DiagramBuilder, Ends } from "./DiagramBuilder.js"
import type { Steps } from "./Steps.js"
import { children, excerpt, type FunctionNode, isFunction } from "./Syntax.js"

export interface Sketch {
  readonly source: string
  readonly drawing: DiagramBuilder
  readonly steps: Steps
  /** Local functions that were drawn already: each is drawn once, where it is first called. */
  readonly drawn: Set<FunctionNode>
  /** Draws a function's body in place and answers with where it goes on. */
  readonly body: (callee: FunctionNode, from: Ends) => Ends
}

/** Draws what runs while an expression is evaluated; the answer is where control goes on. */
export const drawExpression = (sketch: Sketch, node: AnyNode | null | undefined, from: Ends): Ends => {
  if (node === null || node === undefined || !sketch.steps.within(node)) return from
  switch (node.type) {
    case "CallExpression":
      return drawCall(sketch, node, from)
    case "ConditionalExpression": {
      const tested = drawExpression(sketch, node.test, from)
      if (!sketch.steps.within(node.consequent) && !sketch.steps.within(node.alternate)) return tested
      const id = sketch.drawing.node("branch", excerpt(sketch.source, node.test, 40), tested, node)
      return [
        ...drawExpression(sketch, node.consequent, [{ id, label: "yes" }]),
        ...drawExpression(sketch, node.alternate, [{ id, label: "no" }])
      ]
    }
    case "LogicalExpression": {
      const left = drawExpression(sketch, node.left, from)
      if (!sketch.steps.within(node.right)) return left
      const id = sketch.drawing.node("branch", excerpt(sketch.source, node.left, 40), left, node)
      const [on, past] = node.operator === "&&" ? ["yes", "no"] : ["no", "yes"]
      return [...drawExpression(sketch, node.right, [{ id, label: on }]), { id, label: past }]
    }
    case "NewExpression":
      return drawWithCallbacks(sketch, node, from)
    case "ArrowFunctionExpression":
    case "FunctionExpression":
    case "FunctionDeclaration":
      return from
    default:
      return children(node).reduce<Ends>((ends, child) => drawExpression(sketch, child, ends), from)
  }
}

const combinators: ReadonlyMap<string, string> = new Map(
  Object.entries({
    all: "all done",
    allSettled: "all settled",
    race: "first done",
    any: "first success"
  })
)
const iterating: ReadonlySet<string> = new Set([
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
const chaining: ReadonlySet<string> = new Set(["then", "catch", "finally"])

const drawCall = (sketch: Sketch, call: CallExpression, from: Ends): Ends => {
  const { drawing, steps, source } = sketch
  const step = steps.stepOf(call)
  if (step !== undefined) {
    const ends = call.arguments
      .filter((argument) => !isFunction(argument))
      .reduce<Ends>((held, argument) => drawExpression(sketch, argument, held), from)
    return [{ id: drawing.node(step.kind, step.label, ends, call) }]
  }
  const method =
    call.callee.type === "MemberExpression" && call.callee.property.type === "Identifier"
      ? call.callee.property.name
      : ""
  const object = call.callee.type === "MemberExpression" ? call.callee.object : undefined
  const join = object?.type === "Identifier" && object.name === "Promise" ? combinators.get(method) : undefined
  if (join !== undefined) return drawParallel(sketch, call, method, join, from)

  const callback = call.arguments
    .flatMap((argument) => (isFunction(argument) && steps.within(argument.body) ? [argument] : []))
    .at(0)
  if (callback !== undefined && chaining.has(method)) {
    return sketch.body(callback, drawExpression(sketch, object, from))
  }
  if (callback !== undefined && iterating.has(method)) {
    const over = method === "from" ? call.arguments[0] : object
    const id = drawing.node(
      "loop",
      over === undefined ? "each" : `each of ${excerpt(source, over, 30)}`,
      drawExpression(sketch, object, from),
      call
    )
    return closeLoop(drawing, id, sketch.body(callback, [{ id, label: "each" }]))
  }
  const callee = steps.entered(call)
  if (callee !== undefined) {
    const ends = call.arguments.reduce<Ends>((held, argument) => drawExpression(sketch, argument, held), from)
    const id = drawing.node("call", `${excerpt(source, call.callee, 30)}()`, ends, call)
    if (sketch.drawn.has(callee) || drawing.full()) return [{ id }]
    sketch.drawn.add(callee)
    return sketch.body(callee, [{ id }])
  }
  return drawWithCallbacks(sketch, call, from)
}

/** A function given to one that is not known, e.g. `new Promise((done) => setTimeout(done, 1000))`, counts as run. */
const drawWithCallbacks = (sketch: Sketch, node: AnyNode, from: Ends): Ends =>
  children(node).reduce<Ends>(
    (ends, child) =>
      isFunction(child) && sketch.steps.within(child.body)
        ? sketch.body(child, ends)
        : drawExpression(sketch, child, ends),
    from
  )

/** Leads the end of a loop's body back to its head; on goes the way out. */
export const closeLoop = (drawing: DiagramBuilder, head: string, ends: Ends): Ends => {
  for (const end of ends) drawing.edge({ from: end.id, to: head, label: end.label ?? "next", back: true })
  return [{ id: head, label: "done" }]
}

const drawParallel = (sketch: Sketch, call: CallExpression, method: string, join: string, from: Ends): Ends => {
  const { drawing } = sketch
  const [list] = call.arguments
  const id = drawing.node("parallel", `Promise.${method}`, from, call)
  const branches = list?.type === "ArrayExpression" ? list.elements : [list]
  const ends = branches.flatMap((branch) =>
    branch !== null && branch !== undefined && sketch.steps.within(branch)
      ? drawExpression(sketch, branch, [{ id }])
      : []
  )
  return [{ id: drawing.node("join", join, ends.length > 0 ? ends : [{ id }]) }]
}
