/** Compiles the steps of a flow to a workflow's script: checks them, compiles their code, and analyses the result. */
import { Either } from "effect"
import { type CheckedFlow, checkFlow, type KnownConnectors } from "../../../domain/flow/Checks.js"
import { flowDiagram } from "../../../domain/flow/FlowDiagram.js"
import {
  type CompiledModule,
  type FlowScript,
  itemName,
  nodesWithin,
  type PlacedModule,
  scriptOf,
  type StepTest
} from "../../../domain/flow/Script.js"
import type { Detail } from "../../../domain/Failure.js"
import type { Json } from "../../../domain/Json.js"
import type { FlowAnalysis, SourceIssue, StepAnalysis } from "../../../domain/workflow/WorkflowAnalysis.js"
import { analyse } from "./Analyse.js"
import { conditionMistakes } from "../../../domain/expression/Checks.js"
import { compile, tooDeepIssue } from "./Compile.js"
import { patternMistake } from "./FlowUse.js"

/** The name of a workflow, and its document. */
interface NamedFlow {
  readonly name: string
  readonly spec: Json
}

/** Left: all mistakes with their paths, never empty. */
export const compileFlow = ({
  connectors,
  name,
  spec
}: NamedFlow & { readonly connectors: KnownConnectors }): Either.Either<FlowAnalysis, ReadonlyArray<Detail>> =>
  Either.flatMap(checkFlow(spec, connectors), (checked) =>
    Either.flatMap(codeOf(checked, name), ({ modules, source }) =>
      Either.mapBoth(analyse(source), {
        onLeft: (issues) => issues.map((issue) => placedIssue(modules, issue)),
        onRight: ({ bindings, script, warnings }) => ({
          source,
          script,
          bindings,
          warnings: warnings.map((issue) => placedIssue(modules, issue)),
          diagram: flowDiagram(checked),
          isLong: checked.isLong
        })
      })
    )
  )

/** Compiles one step, which reads made-up data. Left: all mistakes of the flow, or that it has no such step. */
export const compileStep = ({
  connectors,
  isRehearsed,
  name,
  spec,
  step
}: NamedFlow & {
  readonly connectors: KnownConnectors
  readonly step: string
  readonly isRehearsed: boolean
}): Either.Either<StepAnalysis, ReadonlyArray<Detail>> =>
  Either.flatMap(checkFlow(spec, connectors), (checked): Either.Either<StepAnalysis, ReadonlyArray<Detail>> => {
    const node = checked.flow.byName.get(step)
    if (node === undefined)
      return Either.left([{ path: "steps", code: "UNKNOWN_STEP", message: `has no step "${step}"` }])
    return Either.flatMap(codeOf(checked, name, { node, isRehearsed }), ({ modules, source }) =>
      Either.mapBoth(analyse(source), {
        onLeft: (issues) => issues.map((issue) => placedIssue(modules, issue)),
        onRight: ({ bindings, script }) => ({
          script,
          bindings,
          path: node.path,
          type: node.type.type,
          isInLoop: itemName(node) !== undefined,
          isLong: nodesWithin(node).some(({ shape }) => shape.isLong)
        })
      })
    )
  })

/** The flow as a workflow in code form. Connectors are not looked up, since what is stored was checked. */
export const writeCode = ({ name, spec }: NamedFlow): Either.Either<string, ReadonlyArray<Detail>> =>
  Either.flatMap(checkFlow(spec, undefined), (checked) => Either.map(codeOf(checked, name), ({ source }) => source))

const codeOf = (
  checked: CheckedFlow,
  name: string,
  test?: StepTest
): Either.Either<FlowScript, ReadonlyArray<Detail>> => {
  const mistakes: Array<Detail> = [...patternMistakes(checked)]
  const compiledModule: CompiledModule = (node, code) => {
    const compiled = compileModule(code.source)
    if (Either.isRight(compiled)) return compiled.right
    mistakes.push(...compiled.left.map((issue) => ({ path: `${node.path}.${code.path}`, ...issue })))
    return { text: code.source, name: "undefined" }
  }
  const script = scriptOf(checked, name, compiledModule, test)
  return mistakes.length > 0 ? Either.left(mistakes) : Either.right(script)
}

/** Mistakes in the conditions' patterns and values. */
const patternMistakes = ({ flow }: CheckedFlow): ReadonlyArray<Detail> =>
  flow.nodes.flatMap(({ path, shape, step }) => [
    ...conditionMistakes(`${path}.when`, step.when ?? undefined, patternMistake),
    ...shape.expressions.flatMap((place) =>
      "condition" in place ? conditionMistakes(`${path}.${place.path}`, place.condition, patternMistake) : []
    )
  ])

const compileModule = (source: string) => {
  try {
    return Either.map(compile(source), ({ module }) => module)
  } catch (error) {
    if (error instanceof RangeError) return Either.left([tooDeepIssue])
    throw error
  }
}

/** An issue of the script with its place in the document; line and column are those of a step's code. */
const placedIssue = (modules: ReadonlyArray<PlacedModule>, issue: SourceIssue): Detail & SourceIssue => {
  const module = modules.find(({ line, lines }) => issue.line > line && issue.line <= line + lines)
  return module === undefined
    ? { ...issue, path: "steps" }
    : { ...issue, path: module.path, line: issue.line - module.line }
}
