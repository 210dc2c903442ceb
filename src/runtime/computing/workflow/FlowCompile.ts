/** Compiles the steps of a flow to a workflow's script: checks them, compiles their code, and analyses the result. */
import { Duration, Either } from "effect"
import { type CheckedFlow, checkFlow, type KnownConnectors } from "../../../domain/flow/Checks.js"
import type { Flow, StepNode } from "../../../domain/flow/Flow.js"
import { flowDiagram } from "../../../domain/flow/FlowDiagram.js"
import { type CompiledModule, itemName, nodesWithin, type PlacedModule, scriptOf } from "../../../domain/flow/Script.js"
import { timeOf } from "../../../domain/flow/WaitTime.js"
import { guest } from "../../../domain/Limits.js"
import { stepTypes } from "../../../domain/flow/StepTypes.js"
import type { Detail } from "../../../domain/Failure.js"
import { presentGeneration } from "../../../domain/flow/Generation.js"
import { orderWarnings, withEarlierOrder } from "../../../domain/flow/OrderWarnings.js"
import type { Json, JsonObject } from "../../../domain/Json.js"
import type { FlowAnalysis, SourceIssue, StepAnalysis } from "../../../domain/workflow/WorkflowAnalysis.js"
import { analyse } from "./Analyse.js"
import { conditionMistakes } from "../../../domain/expression/Checks.js"
import { isReference, literalBraces } from "../../../domain/expression/FlowCondition.js"
import { compile, tooDeepIssue } from "./Compile.js"
import { patternMistake } from "./FlowUse.js"

/** The name of a workflow, and its document. */
interface NamedFlow {
  readonly name: string
  readonly spec: Json
}

/** Left: all mistakes with their paths, never empty. `at`: the present time, in milliseconds. */
export const compileFlow = ({
  at,
  connectors,
  isCompared = false,
  name,
  spec
}: NamedFlow & {
  readonly at: number
  readonly connectors: KnownConnectors
  readonly isCompared?: boolean
}): Either.Either<FlowAnalysis, ReadonlyArray<Detail>> =>
  Either.flatMap(checkAll(spec, connectors), ({ checked, moduleOf }) => {
    const { modules, source } = scriptOf(checked, name, moduleOf)
    return Either.mapBoth(analyse(source), {
      onLeft: (issues) => issues.map((issue) => placedIssue(modules, issue)),
      onRight: ({ bindings, script, warnings }) => ({
        source,
        script,
        bindings,
        warnings: [
          ...warnings.map((issue) => placedIssue(modules, issue)),
          ...orderWarnings(checked, isCompared),
          ...braceWarnings(checked),
          ...farTimes(checked, at),
          ...idleSettings(checked)
        ],
        diagram: flowDiagram(checked),
        isLong: checked.isLong
      })
    })
  })

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
  Either.flatMap(
    checkAll(spec, connectors),
    ({ checked, moduleOf }): Either.Either<StepAnalysis, ReadonlyArray<Detail>> => {
      const node = checked.flow.byName.get(step)
      if (node === undefined)
        return Either.left([{ path: "steps", code: "UNKNOWN_STEP", message: `has no step "${step}"` }])
      const { modules, source } = scriptOf(checked, name, moduleOf, { node, isRehearsed })
      return Either.mapBoth(analyse(source), {
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
    }
  )

/** The flow as a workflow in code form. Connectors are not looked up, since what is stored was checked. */
export const writeCode = ({
  generation,
  name,
  spec
}: NamedFlow & { readonly generation: number }): Either.Either<string, ReadonlyArray<Detail>> =>
  Either.map(checkAll(spec, undefined, generation), ({ checked, moduleOf }) => scriptOf(checked, name, moduleOf).source)

/** The document with the order of the first generation written out. */
export const writeEarlierOrder = (spec: JsonObject): Either.Either<JsonObject, ReadonlyArray<Detail>> =>
  Either.map(checkAll(spec, undefined), ({ checked }) => withEarlierOrder(spec, checked))

/** A flow without mistakes, and the modules of its steps. */
interface CompiledSteps {
  readonly checked: CheckedFlow
  readonly moduleOf: CompiledModule
}

/** Checks the flow and, in the same pass, the patterns of its conditions and the code of its steps. */
const checkAll = (
  spec: Json,
  connectors: KnownConnectors | undefined,
  generation = presentGeneration
): Either.Either<CompiledSteps, ReadonlyArray<Detail>> => {
  const compiled = new Map<StepNode, ReturnType<CompiledModule>>()
  const codeMistakes = (node: StepNode): ReadonlyArray<Detail> => {
    const { code } = node.shape
    if (code === undefined) return []
    const found = compileModule(code.source)
    if (Either.isLeft(found)) return found.left.map((issue) => ({ path: `${node.path}.${code.path}`, ...issue }))
    compiled.set(node, found.right)
    return []
  }
  const further = (flow: Flow) => flow.nodes.flatMap((node) => [...patternMistakes(node), ...codeMistakes(node)])
  const moduleOf: CompiledModule = (node) => {
    const found = compiled.get(node)
    if (found === undefined) throw new Error(`the code of ${node.path} was not compiled`)
    return found
  }
  return Either.map(checkFlow(spec, connectors, stepTypes, further, generation), (checked) => ({ checked, moduleOf }))
}

/** Mistakes in the patterns and values of a step's conditions. */
const patternMistakes = ({ path, shape, step }: StepNode): ReadonlyArray<Detail> => [
  ...conditionMistakes(`${path}.when`, step.when ?? undefined, patternMistake, isReference),
  ...shape.expressions.flatMap((place) =>
    "condition" in place ? conditionMistakes(`${path}.${place.path}`, place.condition, patternMistake, isReference) : []
  )
]

/** Times that waits are to reach though no step waits for so long. `at`: the present time. */
const farTimes = ({ flow }: CheckedFlow, at: number): ReadonlyArray<Detail> =>
  flow.nodes.flatMap(({ path, shape: { until } }) =>
    until === undefined || timeOf(until) - at <= Duration.toMillis(guest.timer)
      ? []
      : [
          {
            path: `spec.${path}.config.until`,
            code: "TIME_TOO_FAR",
            message: `lies further ahead than a step waits, which is ${Duration.toHours(guest.timer)} h: the step fails if it is reached before then`
          }
        ]
  )

/** Settings that do nothing for steps of their type. */
const idleSettings = ({ flow }: CheckedFlow): ReadonlyArray<Detail> =>
  flow.nodes.flatMap(({ path, shape, step: { retry, type } }) =>
    retry === undefined || shape.ignoresRetry !== true
      ? []
      : [
          {
            path: `spec.${path}.retry`,
            code: "NO_EFFECT",
            message: `does nothing: a ${type} like this is not tried again`
          }
        ]
  )

/** Values of conditions with braces, which are compared as they are written. */
const braceWarnings = ({ flow }: CheckedFlow): ReadonlyArray<Detail> =>
  flow.nodes
    .flatMap(({ path, shape, step: { when = null } }) => [
      ...(when === null ? [] : literalBraces(when, `${path}.when`)),
      ...shape.expressions.flatMap((place) =>
        "condition" in place ? literalBraces(place.condition, `${path}.${place.path}`) : []
      )
    ])
    .map((path) => ({
      path: `spec.${path}`,
      code: "NOT_EVALUATED",
      message: 'is compared as it is written: a value is evaluated if it is one reference, such as "{{input.b}}"'
    }))

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
