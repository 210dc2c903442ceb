/** The read-only diagram of a workflow: its statements as a flow of steps, branches, loops and failures. */
import type * as acorn from "acorn"
import type { AnyNode } from "acorn"
import type { Diagram } from "../../../domain/WorkflowAnalysis.js"
import type { CompiledWorkflow } from "./Compile.js"
import { type Ends, makeDrawing } from "./DiagramBuilder.js"
import { closeLoop, drawExpression, type Sketch } from "./GraphExpressions.js"
import type { ScopeNames } from "./ScopeNames.js"
import { stepsOf } from "./Steps.js"
import { excerpt } from "./Syntax.js"

/** A statement that `break` and `continue` refer to; their loose ends are collected here. */
interface Target {
  readonly label: string | undefined
  readonly breaks: Array<{ readonly id: string; readonly label?: string }>
  /** A labelled block: only a `break` that names it refers to it. */
  readonly block?: boolean
  /** Absent for a switch or a labelled block, which cannot be continued. */
  readonly continues?: Array<{ readonly id: string; readonly label?: string }>
}

export const diagramOf = (compiled: CompiledWorkflow, names: ScopeNames): Diagram => {
  const { tree, main } = compiled
  const { source } = tree
  const drawing = makeDrawing(tree)
  const steps = stepsOf(tree, names)
  const sketch: Sketch = {
    source,
    drawing,
    steps,
    drawn: new Set(),
    // What a function drawn in place returns goes on behind its call.
    body: (callee, from) => {
      if (callee.body.type !== "BlockStatement") return drawExpression(sketch, callee.body, from)
      const returns: Array<Ends[number]> = []
      const ends = statements(callee.body.body, from, { targets: [], returns })
      return [...ends, ...returns]
    }
  }

  interface Frame {
    readonly targets: ReadonlyArray<Target>
    /** Where `return` of a function drawn in place leads; absent in the workflow's own function. */
    readonly returns?: Array<Ends[number]>
  }

  const expression = (node: AnyNode | null | undefined, from: Ends): Ends => drawExpression(sketch, node, from)

  const statements = (list: ReadonlyArray<AnyNode>, from: Ends, frame: Frame): Ends => {
    let ends = from
    for (const node of list) {
      if (ends.length === 0) break
      ends = statement(node, ends, frame)
    }
    return ends
  }

  const statement = (node: AnyNode, from: Ends, frame: Frame): Ends => {
    switch (node.type) {
      case "ExpressionStatement":
        return expression(node.expression, from)
      case "VariableDeclaration":
        return node.declarations.reduce<Ends>((ends, { init }) => expression(init, ends), from)
      case "BlockStatement":
        return statements(node.body, from, frame)
      case "LabeledStatement":
        return labelled(node, from, frame)
      case "ReturnStatement":
      case "ThrowStatement":
        return leave(node, from, frame)
      case "IfStatement":
        return branch(node, from, frame)
      case "SwitchStatement":
        return choice(node, from, frame, undefined)
      case "ForStatement":
      case "WhileStatement":
      case "DoWhileStatement":
      case "ForOfStatement":
      case "ForInStatement":
        return loop(node, from, frame, undefined)
      case "BreakStatement":
      case "ContinueStatement":
        return jump(node, from, frame)
      case "TryStatement":
        return attempt(node, from, frame)
      default:
        return from
    }
  }

  const leave = (node: acorn.ReturnStatement | acorn.ThrowStatement, from: Ends, frame: Frame): Ends => {
    const ends = expression(node.argument, from)
    if (node.type === "ReturnStatement" && frame.returns !== undefined) frame.returns.push(...ends)
    else drawing.node(node.type === "ReturnStatement" ? "return" : "throw", excerpt(source, node, 40), ends, node)
    return []
  }

  const branch = (node: acorn.IfStatement, from: Ends, frame: Frame): Ends => {
    const tested = expression(node.test, from)
    const shown = [node.consequent, node.alternate].some((part) => steps.within(part) || steps.leaves(part))
    if (!shown) return tested
    const id = drawing.node("branch", excerpt(source, node.test, 40), tested, node)
    const otherwise: Ends = [{ id, label: "no" }]
    return [
      ...statement(node.consequent, [{ id, label: "yes" }], frame),
      ...(node.alternate ? statement(node.alternate, otherwise, frame) : otherwise)
    ]
  }

  const choice = (node: acorn.SwitchStatement, from: Ends, frame: Frame, label: string | undefined): Ends => {
    const asked = expression(node.discriminant, from)
    if (!steps.within(node) && !steps.leaves(node)) return asked
    const id = drawing.node("branch", excerpt(source, node.discriminant, 40), asked, node)
    const target: Target = { label, breaks: [] }
    const inner = { ...frame, targets: [...frame.targets, target] }
    let falling: Ends = []
    for (const one of node.cases) {
      const when = one.test ? excerpt(source, one.test, 24) : "default"
      falling = statements(one.consequent, [{ id, label: when }, ...falling], inner)
    }
    const unmatched: Ends = node.cases.some((one) => !one.test) ? [] : [{ id, label: "else" }]
    return [...falling, ...target.breaks, ...unmatched]
  }

  const loop = (node: Loop, from: Ends, frame: Frame, label: string | undefined): Ends => {
    let ends = from
    if (node.type === "ForStatement")
      ends = node.init?.type === "VariableDeclaration" ? statement(node.init, ends, frame) : expression(node.init, ends)
    else if ("right" in node) ends = expression(node.right, ends)
    if (!steps.within(node) && !steps.leaves(node.body)) return ends
    const id = drawing.node("loop", loopLabel(source, node), ends, node)
    const target = { label, breaks: [], continues: [] } satisfies Target
    const inner = { ...frame, targets: [...frame.targets, target] }
    const tested =
      "test" in node && node.type !== "DoWhileStatement"
        ? expression(node.test, [{ id, label: "each" }])
        : [{ id, label: "each" }]
    const body = statement(node.body, tested, inner)
    const round = [...body, ...target.continues]
    const again =
      node.type === "ForStatement"
        ? expression(node.update, round)
        : node.type === "DoWhileStatement"
          ? expression(node.test, round)
          : round
    const out = closeLoop(drawing, id, again)
    return [...(loopsForever(node) ? [] : out), ...target.breaks]
  }

  const labelled = (node: acorn.LabeledStatement, from: Ends, frame: Frame): Ends => {
    const { body } = node
    const label = node.label.name
    if (body.type === "SwitchStatement") return choice(body, from, frame, label)
    if (isLoop(body)) return loop(body, from, frame, label)
    const target: Target = { label, breaks: [], block: true }
    return [...statement(body, from, { ...frame, targets: [...frame.targets, target] }), ...target.breaks]
  }

  const jump = (node: acorn.BreakStatement | acorn.ContinueStatement, from: Ends, frame: Frame): Ends => {
    const name = node.label?.name
    const continues = node.type === "ContinueStatement"
    const target = frame.targets.findLast((one) =>
      name === undefined ? one.block !== true && (!continues || one.continues !== undefined) : one.label === name
    )
    const list: Array<Ends[number]> | undefined = continues ? target?.continues : target?.breaks
    list?.push(...from)
    return []
  }

  const attempt = (node: acorn.TryStatement, from: Ends, frame: Frame): Ends => {
    if (!steps.within(node) && !steps.leaves(node)) return from
    const id = drawing.node("try", "try", from, node)
    const tried = statements(node.block.body, [{ id }], frame)
    let caught: Ends = []
    if (node.handler) {
      const label = node.handler.param ? `catch ${excerpt(source, node.handler.param, 24)}` : "catch"
      const handler = drawing.node("catch", label, [], node.handler)
      drawing.edge({ from: id, to: handler, label: "error", error: true })
      caught = statements(node.handler.body.body, [{ id: handler }], frame)
    }
    const ends = [...tried, ...caught]
    if (!node.finalizer || !steps.within(node.finalizer)) return ends
    const last = drawing.node("finally", "finally", ends, node.finalizer)
    if (ends.length === 0) drawing.edge({ from: id, to: last })
    return statements(node.finalizer.body, [{ id: last }], frame)
  }

  const start: Ends = [{ id: drawing.node("start", "start", [], main) }]
  if (main.body.type === "BlockStatement") {
    const ends = statements(main.body.body, start, { targets: [] })
    if (ends.length > 0) drawing.node("end", "end", ends)
  } else {
    drawing.node("return", excerpt(source, main.body, 40), expression(main.body, start), main.body)
  }
  return drawing.diagram()
}

type Loop =
  | acorn.ForStatement
  | acorn.WhileStatement
  | acorn.DoWhileStatement
  | acorn.ForOfStatement
  | acorn.ForInStatement

const isLoop = (node: AnyNode): node is Loop => loops.has(node.type)
const loops: ReadonlySet<string> = new Set([
  "ForStatement",
  "WhileStatement",
  "DoWhileStatement",
  "ForOfStatement",
  "ForInStatement"
])

const loopLabel = (source: string, node: Loop): string => {
  if ("right" in node) return `each of ${excerpt(source, node.right, 30)}`
  return node.test ? `while ${excerpt(source, node.test, 34)}` : "forever"
}

/** Whether a loop can only be left by `break`, `return` or `throw`. */
const loopsForever = (node: Loop): boolean =>
  !("right" in node) && (!node.test || (node.test.type === "Literal" && node.test.value === true))
