/** Draws the read-only diagram of a workflow: its statements as a flow of steps, branches, loops and failures. */
import type * as acorn from "acorn"
import type { AnyNode } from "acorn"
import type { Diagram } from "../../../domain/workflow/WorkflowAnalysis.js"
import type { CompiledWorkflow } from "./Compile.js"
import { type Ends, makeDiagramBuilder } from "./DiagramBuilder.js"
import { closeLoop, makeExpressionDrawing } from "./DiagramExpressions.js"
import type { ScopeNames } from "./ScopeNames.js"
import { findSteps } from "./Steps.js"
import { excerpt, type FunctionNode } from "./Syntax.js"

/** A statement that `break` and `continue` can refer to, with the loose ends of those that do. */
interface JumpTarget {
  readonly label: string | undefined
  readonly breaks: Array<{ readonly id: string; readonly label?: string }>
  /** A labelled block: only a `break` that names it refers to it. */
  readonly isBlock?: boolean
  /** Absent for a switch or a labelled block, which cannot be continued. */
  readonly continues?: Array<{ readonly id: string; readonly label?: string }>
}

export const diagramOf = (compiled: CompiledWorkflow, names: ScopeNames): Diagram => {
  const { tree, main } = compiled
  const { source } = tree
  const builder = makeDiagramBuilder(tree)
  const steps = findSteps(tree, names)
  // Control continues after the call when the function returns.
  const drawBody = (callee: FunctionNode, from: Ends): Ends => {
    if (callee.body.type !== "BlockStatement") return draw(callee.body, from)
    const returns: Array<Ends[number]> = []
    const ends = drawStatements(callee.body.body, from, { targets: [], returns })
    return [...ends, ...returns]
  }
  const draw = makeExpressionDrawing(source, builder, steps, drawBody)

  interface Frame {
    readonly targets: ReadonlyArray<JumpTarget>
    /**
     * The loose ends of `return` in a local function that is drawn at its call; absent in the workflow's own function.
     */
    readonly returns?: Array<Ends[number]>
  }

  const drawStatements = (list: ReadonlyArray<AnyNode>, from: Ends, frame: Frame): Ends => {
    let ends = from
    for (const node of list) {
      if (ends.length === 0) break
      ends = drawStatement(node, ends, frame)
    }
    return ends
  }

  const drawStatement = (node: AnyNode, from: Ends, frame: Frame): Ends => {
    switch (node.type) {
      case "ExpressionStatement":
        return draw(node.expression, from)
      case "VariableDeclaration":
        return node.declarations.reduce<Ends>((ends, { init }) => draw(init, ends), from)
      case "BlockStatement":
        return drawStatements(node.body, from, frame)
      case "LabeledStatement":
        return drawLabelled(node, from, frame)
      case "ReturnStatement":
      case "ThrowStatement":
        return drawExit(node, from, frame)
      case "IfStatement":
        return drawIf(node, from, frame)
      case "SwitchStatement":
        return drawSwitch(node, from, frame, undefined)
      case "ForStatement":
      case "WhileStatement":
      case "DoWhileStatement":
      case "ForOfStatement":
      case "ForInStatement":
        return drawLoop(node, from, frame, undefined)
      case "BreakStatement":
      case "ContinueStatement":
        return connectJump(node, from, frame)
      case "TryStatement":
        return drawTry(node, from, frame)
      default:
        return from
    }
  }

  const drawExit = (node: acorn.ReturnStatement | acorn.ThrowStatement, from: Ends, frame: Frame): Ends => {
    const ends = draw(node.argument, from)
    if (node.type === "ReturnStatement" && frame.returns !== undefined) frame.returns.push(...ends)
    else builder.addNode(node.type === "ReturnStatement" ? "return" : "throw", excerpt(source, node, 40), ends, node)
    return []
  }

  const drawIf = (node: acorn.IfStatement, from: Ends, frame: Frame): Ends => {
    const testEnds = draw(node.test, from)
    const isShown = [node.consequent, node.alternate].some((part) => steps.hasStep(part) || steps.canLeave(part))
    if (!isShown) return testEnds
    const id = builder.addNode("branch", excerpt(source, node.test, 40), testEnds, node)
    const noEnds: Ends = [{ id, label: "no" }]
    return [
      ...drawStatement(node.consequent, [{ id, label: "yes" }], frame),
      ...(node.alternate ? drawStatement(node.alternate, noEnds, frame) : noEnds)
    ]
  }

  const drawSwitch = (node: acorn.SwitchStatement, from: Ends, frame: Frame, label: string | undefined): Ends => {
    const discriminantEnds = draw(node.discriminant, from)
    if (!steps.hasStep(node) && !steps.canLeave(node)) return discriminantEnds
    const id = builder.addNode("branch", excerpt(source, node.discriminant, 40), discriminantEnds, node)
    const target: JumpTarget = { label, breaks: [] }
    const inner = { ...frame, targets: [...frame.targets, target] }
    let fallThroughEnds: Ends = []
    for (const one of node.cases) {
      const when = one.test ? excerpt(source, one.test, 24) : "default"
      fallThroughEnds = drawStatements(one.consequent, [{ id, label: when }, ...fallThroughEnds], inner)
    }
    const noMatchEnds: Ends = node.cases.some((one) => !one.test) ? [] : [{ id, label: "else" }]
    return [...fallThroughEnds, ...target.breaks, ...noMatchEnds]
  }

  const drawLoop = (node: Loop, from: Ends, frame: Frame, label: string | undefined): Ends => {
    let ends = from
    if (node.type === "ForStatement")
      ends = node.init?.type === "VariableDeclaration" ? drawStatement(node.init, ends, frame) : draw(node.init, ends)
    else if ("right" in node) ends = draw(node.right, ends)
    if (!steps.hasStep(node) && !steps.canLeave(node.body)) return ends
    const id = builder.addNode("loop", loopLabel(source, node), ends, node)
    const target = { label, breaks: [], continues: [] } satisfies JumpTarget
    const inner = { ...frame, targets: [...frame.targets, target] }
    const testEnds =
      "test" in node && node.type !== "DoWhileStatement"
        ? draw(node.test, [{ id, label: "each" }])
        : [{ id, label: "each" }]
    const body = drawStatement(node.body, testEnds, inner)
    const bodyEnds = [...body, ...target.continues]
    const backEnds =
      node.type === "ForStatement"
        ? draw(node.update, bodyEnds)
        : node.type === "DoWhileStatement"
          ? draw(node.test, bodyEnds)
          : bodyEnds
    const exits = closeLoop(builder, id, backEnds)
    return [...(isEndless(node) ? [] : exits), ...target.breaks]
  }

  const drawLabelled = (node: acorn.LabeledStatement, from: Ends, frame: Frame): Ends => {
    const { body } = node
    const label = node.label.name
    if (body.type === "SwitchStatement") return drawSwitch(body, from, frame, label)
    if (isLoop(body)) return drawLoop(body, from, frame, label)
    const target: JumpTarget = { label, breaks: [], isBlock: true }
    return [...drawStatement(body, from, { ...frame, targets: [...frame.targets, target] }), ...target.breaks]
  }

  const connectJump = (node: acorn.BreakStatement | acorn.ContinueStatement, from: Ends, frame: Frame): Ends => {
    const name = node.label?.name
    const continues = node.type === "ContinueStatement"
    const target = frame.targets.findLast((one) =>
      name === undefined ? one.isBlock !== true && (!continues || one.continues !== undefined) : one.label === name
    )
    const list: Array<Ends[number]> | undefined = continues ? target?.continues : target?.breaks
    list?.push(...from)
    return []
  }

  const drawTry = (node: acorn.TryStatement, from: Ends, frame: Frame): Ends => {
    if (!steps.hasStep(node) && !steps.canLeave(node)) return from
    const id = builder.addNode("try", "try", from, node)
    const tryEnds = drawStatements(node.block.body, [{ id }], frame)
    let catchEnds: Ends = []
    if (node.handler) {
      const label = node.handler.param ? `catch ${excerpt(source, node.handler.param, 24)}` : "catch"
      const handler = builder.addNode("catch", label, [], node.handler)
      builder.addEdge({ from: id, to: handler, label: "error", error: true })
      catchEnds = drawStatements(node.handler.body.body, [{ id: handler }], frame)
    }
    const ends = [...tryEnds, ...catchEnds]
    if (!node.finalizer || !steps.hasStep(node.finalizer)) return ends
    const last = builder.addNode("finally", "finally", ends, node.finalizer)
    if (ends.length === 0) builder.addEdge({ from: id, to: last })
    return drawStatements(node.finalizer.body, [{ id: last }], frame)
  }

  const start: Ends = [{ id: builder.addNode("start", "start", [], main) }]
  if (main.body.type === "BlockStatement") {
    const ends = drawStatements(main.body.body, start, { targets: [] })
    if (ends.length > 0) builder.addNode("end", "end", ends)
  } else {
    builder.addNode("return", excerpt(source, main.body, 40), draw(main.body, start), main.body)
  }
  return builder.build()
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

/** Whether only `break`, `return` or `throw` can end the loop. */
const isEndless = (node: Loop): boolean =>
  !("right" in node) && (!node.test || (node.test.type === "Literal" && node.test.value === true))
