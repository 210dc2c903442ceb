/**
 * Writes a flow as the JavaScript of a workflow, which makes its calls through the guest's flow library. It is both what
 * runs and what an export in code form holds.
 */
import type { JsonObject } from "../Json.js"
import { nameInCode, type CheckedFlow } from "./Checks.js"
import { startOrder } from "./Dependencies.js"
import { isLoopBody, type StepList, type StepNode } from "./Flow.js"
import { literal, memberAccess } from "./JavaScript.js"
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

const lineCount = (text: string): number => text.split("\n").length

/** The script of a flow. */
export const scriptOf = (
  { dependencies, flow, reads }: CheckedFlow,
  name: string,
  compiledModule: CompiledModule
): FlowScript => {
  const head = [`// ${name.replaceAll(/[^\w -]/g, "")}: a flow of ${flow.nodes.length} steps`]
  const modules: Array<PlacedModule> = []
  const places = new Map<StepNode, PlacedModule>()
  for (const node of flow.nodes) {
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
      action: ({ action, connector }) => memberAccess(memberAccess("svc.connector", nameInCode(connector)), action),
      code: () => `code_${step.name}`
    })
    const all = optionsOf(node, { ...places.get(node) }, options)
    return `flow.${method}(${[literal(step.name), literal(all, indent), ...args].join(", ")})`
  }

  const optionsOf = (node: StepNode, place: Partial<PlacedModule>, more: JsonObject = {}): JsonObject => {
    const { onError, retry, timeoutMs, when } = node.step
    return {
      after: (dependencies.get(node) ?? []).map((one) => one.step.name),
      ...(when === undefined || when === null ? {} : { when: when as unknown as JsonObject }),
      ...(onError === undefined || onError === "halt" ? {} : { onError }),
      ...(retry === undefined ? {} : { retry }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(place.line === undefined ? {} : { line: place.line }),
      ...(node.lists.length === 1 && node.lists.every(isLoopBody)
        ? loopFacts(node.lists[0]?.nodes ?? [], reads.get(node) ?? [])
        : {}),
      ...more
    }
  }

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
