/**
 * Writes a flow as the JavaScript of a workflow, which makes its calls through the guest's flow library. It is both what
 * runs and what an export in code form holds.
 */
import type { JsonObject } from "../Json.js"
import { nameInCode, type CheckedFlow } from "./Checks.js"
import { startOrder } from "./Dependencies.js"
import { isLoopBody, ownersOf, type StepList, type StepNode } from "./Flow.js"
import { literal, memberAccess, memberName } from "./JavaScript.js"
import { isRecordAction } from "./RecordStep.js"
import { pathPattern } from "./Resume.js"
import type { StepCode } from "./StepType.js"

/** A module of a step, as it stands in the script. */
export interface PlacedModule {
  /** The place of its source in the document. */
  readonly path: string
  readonly step: string
  /** The number of lines of the script before its first one. */
  readonly line: number
  readonly lines: number
}

/** A flow as code, and where the modules of its steps stand in it. */
export interface FlowScript {
  /** A module whose default export is the workflow's function. */
  readonly source: string
  readonly modules: ReadonlyArray<PlacedModule>
}

/** A step's module without its export, with the lines of its source, and the name of its function. */
export type CompiledModule = (step: StepNode, code: StepCode) => { readonly text: string; readonly name: string }

/**
 * What the library needs of a loop: the last step, the calls that each iteration makes at least, and the steps outside of
 * it that are read inside.
 */
const loopFacts = (nodes: ReadonlyArray<StepNode>, reads: ReadonlyArray<string>): JsonObject => ({
  last: nodes.at(-1)?.step.name ?? "",
  calls: nodes.reduce((sum, one) => sum + (one.step.when === undefined ? one.shape.calls : 0), 0),
  reads
})

/** A step that is tested alone. `isRehearsed`: it does not wait, and makes no call that has an effect. */
export interface StepTest {
  readonly node: StepNode
  readonly isRehearsed: boolean
}

/** A step with those inside of it. */
export const nodesWithin = (node: StepNode): ReadonlyArray<StepNode> => [
  node,
  ...node.lists.flatMap(({ nodes }) => nodes.flatMap(nodesWithin))
]

/** The name of the item that a step reads: that of the innermost loop around it. */
export const itemName = ({ list }: StepNode): string | undefined =>
  [list, ...ownersOf(list).map((owner) => owner.list)].find(isLoopBody)?.group?.variables[0]

/** The function of a workflow that runs one step, whose input holds what its expressions read. */
const testBody = ({ isRehearsed, node }: StepTest, stepText: (node: StepNode, indent: string) => string): string => {
  const { name } = node.step
  const item = itemName(node)
  const items = item === undefined ? "" : `, items: { ${memberName(item)}: given.item, index: 0 }`
  const prefix = pathPattern(node).slice(0, -name.length)
  return `export default async function (ctx) {
  const given = ctx.input
  ctx.input = given.input
  const test = { steps: given.steps, prefix: ${literal(prefix)}, isRehearsed: ${isRehearsed}${items} }
  return svc.flow(ctx, { last: ${literal(name)}, test }, (flow) => {
    ${stepText(node, "    ")}
  })
}
`
}

const lineCount = (text: string): number => text.split("\n").length

/** The script of a flow, or of one step of it. */
export const scriptOf = (
  { dependencies, flow, reads }: CheckedFlow,
  name: string,
  compiledModule: CompiledModule,
  test?: StepTest
): FlowScript => {
  const head = [`// ${name.replaceAll(/[^\w -]/g, "")}: a flow of ${flow.nodes.length} steps`]
  const modules: Array<PlacedModule> = []
  const places = new Map<StepNode, PlacedModule>()
  for (const node of test === undefined ? flow.nodes : nodesWithin(test.node)) {
    const { code } = node.shape
    if (code === undefined) continue
    const module = compiledModule(node, code)
    const place = {
      path: `${node.path}.${code.path}`,
      step: node.step.name,
      line: lineCount(head.join("\n")) + 1,
      lines: lineCount(module.text)
    }
    modules.push(place)
    places.set(node, place)
    head.push(`const code_${node.step.name} = (svc, fetch, setTimeout, setInterval) => {`)
    head.push(module.text, `return ${module.name}`, "}")
  }

  const listText = (list: StepList, indent: string): string =>
    startOrder(list, dependencies)
      .map((node) => `\n${indent}${stepText(node, indent)}`)
      .join("")

  const stepText = (node: StepNode, indent: string): string => {
    const { shape, step } = node
    const base = step.input ?? {}
    const { args, method, options } = shape.script({
      literal: (value) => literal(value, indent),
      group: (at) => {
        const list = node.lists[at]
        const body = list === undefined ? "" : listText(list, `${indent}  `)
        return body === "" ? "() => {}" : `(flow) => {${body}\n${indent}}`
      },
      args:
        step.mapping === undefined
          ? `v.all(${literal(base, indent)})`
          : `v.map(${literal(step.mapping, indent)}, ${literal(base, indent)})`,
      action: (called) =>
        isRecordAction(called)
          ? called.action.split(".").reduce(memberAccess, `svc.${called.connector}`)
          : memberAccess(memberAccess("svc.connector", nameInCode(called.connector)), called.action),
      code: () => `code_${step.name}`
    })
    const all = optionsOf(node, { ...places.get(node) }, options)
    return `flow.${method}(${[literal(step.name), literal(all, indent), ...args].join(", ")})`
  }

  const optionsOf = (node: StepNode, place: Partial<PlacedModule>, more: JsonObject = {}): JsonObject => {
    const { onError, retry, timeoutMs, when } = node.step
    const isTested = node === test?.node
    return {
      after: isTested ? [] : (dependencies.get(node) ?? []).map((one) => one.step.name),
      ...(when === undefined || when === null ? {} : { when: when as unknown as JsonObject }),
      ...(onError === undefined || onError === "halt" || isTested ? {} : { onError }),
      ...(retry === undefined ? {} : { retry }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(place.line === undefined ? {} : { line: place.line }),
      ...(node.lists.length === 1 && node.lists.every(isLoopBody)
        ? loopFacts(node.lists[0]?.nodes ?? [], reads.get(node) ?? [])
        : {}),
      ...more
    }
  }

  if (test !== undefined) return { source: `${head.join("\n")}\n${testBody(test, stepText)}`, modules }
  const response = { ...flow.spec.response, last: flow.root.nodes.at(-1)?.step.name ?? "" }
  const body = listText(flow.root, "    ")
  const source = `${head.join("\n")}
export default async function (ctx) {
  return svc.flow(ctx, ${literal(response as JsonObject, "  ")}, (flow) => {${body}
  })
}
`
  return { source, modules }
}
