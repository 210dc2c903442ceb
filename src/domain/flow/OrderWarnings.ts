/**
 * What saving says of the order of steps: those that run before what stands before them, and those that an earlier generation
 * ran otherwise. Decisions: 0078.
 */
import { isList, isObject, type Json, type JsonObject } from "../Json.js"
import type { CheckedFlow } from "./Checks.js"
import type { StepNode } from "./Flow.js"
import { changedWaits, earliestUses, listsOf, waitsOfFirstGeneration } from "./Waits.js"

/** The code of the warning that an earlier generation ran the steps in another order. */
const orderChanged = "ORDER_CHANGED"

/** Whether a stored warning is that one. */
export const isOrderWarning = (warning: Json): boolean => isObject(warning) && warning["code"] === orderChanged
export const hasOrderWarning = ({ warnings }: { readonly warnings: Json }): boolean =>
  isList(warnings) && warnings.some(isOrderWarning)

/** A warning at a place of the document. */
export interface OrderWarning {
  readonly path: string
  readonly code: string
  readonly message: string
  /** Of `orderChanged`: what steps waited for, and wait for now. */
  readonly steps?: ReadonlyArray<{
    readonly name: string
    readonly before: ReadonlyArray<string>
    readonly now: ReadonlyArray<string>
  }>
}

/** Steps that a warning lists, those that its text names, and the names in each list. */
const most = { listed: 50, named: 3, names: 20 } as const

const namesOf = (nodes: ReadonlyArray<StepNode>): ReadonlyArray<string> =>
  nodes.slice(0, most.names).map(({ step }) => step.name)

const listed = (names: ReadonlyArray<string>): string =>
  names.length === 0 ? "nothing" : names.map((name) => `"${name}"`).join(", ")

/** The steps that run before others that stand before them. */
const runsAhead = ({ edges, flow }: CheckedFlow): ReadonlyArray<OrderWarning> =>
  listsOf(flow).flatMap((list) => {
    const earliest = earliestUses(list, edges)
    return list.nodes.flatMap((node) => {
      const first = earliest.get(node) ?? node.index
      if (first === node.index || node.step.dependsOn !== undefined) return []
      const [user, ...between] = namesOf(list.nodes.slice(first, node.index))
      const also = between.length === 0 ? "" : `, nor for ${listed(between)}`
      const message = `does not wait for ${listed([user ?? ""])}, which stands before it and waits for it${also}: move it up`
      return [{ path: `spec.${node.path}`, code: "RUNS_AHEAD", message }]
    })
  })

/** Both orders of the steps whose order has changed since the first generation. */
const changedOrder = ({ dependencies, edges, flow }: CheckedFlow): ReadonlyArray<OrderWarning> => {
  const steps = changedWaits(flow, waitsOfFirstGeneration(edges), dependencies).map(({ before, node, now }) => ({
    name: node.step.name,
    before: namesOf(before),
    now: namesOf(now)
  }))
  if (steps.length === 0) return []
  const named = steps.slice(0, most.named).map(({ before, name, now }) => {
    return `"${name}" waited for ${listed(before)} and waits for ${listed(now)}`
  })
  const more = steps.length > named.length ? `, and ${steps.length - named.length} more` : ""
  const message = `an earlier generation ran these steps in another order: ${named.join("; ")}${more}. To keep that order, take the spec with it written out as dependsOn: GET /api/v1/workflows/{id}/export?order=earlier`
  return [{ path: "spec.steps", code: orderChanged, message, steps: steps.slice(0, most.listed) }]
}

/** The warnings of a flow's order. `isCompared`: with the order of the first generation, too. */
export const orderWarnings = (checked: CheckedFlow, isCompared: boolean): ReadonlyArray<OrderWarning> => [
  ...runsAhead(checked),
  ...(isCompared ? changedOrder(checked) : [])
]

/**
 * The document with the order of the first generation written out as `dependsOn`, in each list whose order has changed: it
 * means in this generation what it meant in that one.
 */
export const withEarlierOrder = (document: JsonObject, { dependencies, edges, flow }: CheckedFlow): JsonObject => {
  const earlier = waitsOfFirstGeneration(edges)
  const changed = new Set(changedWaits(flow, earlier, dependencies).map(({ node }) => node.list))
  const written = new Map(
    [...changed].flatMap(({ nodes }) =>
      nodes.flatMap((node) => {
        const waits = earlier.get(node) ?? []
        return node.step.dependsOn !== undefined || (node.index === 0 && waits.length === 0)
          ? []
          : [[node.path, waits.map(({ step }) => step.name)] as const]
      })
    )
  )
  const rewritten = (value: Json, path: string): Json => {
    if (isList(value)) return value.map((one, at) => rewritten(one, `${path}[${at}]`))
    if (!isObject(value)) return value
    const members = Object.entries(value).map(
      ([name, child]) => [name, rewritten(child, path === "" ? name : `${path}.${name}`)] as const
    )
    const dependsOn = written.get(path)
    return Object.fromEntries([...members, ...(dependsOn === undefined ? [] : [["dependsOn", dependsOn] as const])])
  }
  // An object stays one.
  return rewritten(document, "") as JsonObject
}
