/**
 * A flow as a file: its document with its name and description, as JSON, as a module of JavaScript, or as code that makes
 * the same calls. Reading a file gives the same document again. A file holds no id, URL or secret of the service's records.
 */
import { Schema } from "effect"
import { isList, isObject, type Json, type JsonObject } from "../Json.js"
import { bodyBytes } from "../Limits.js"
import { presentGeneration } from "./Generation.js"
import { literal, textWithLines } from "./JavaScript.js"

/** Forms of files that a flow is made from: the document as JSON, and a module whose default export is the document. */
const FlowFileFormat = Schema.Literal("flow.json", "flow.js")
export type FlowFileFormat = typeof FlowFileFormat.Type

/** Forms in which a flow is exported. `code`: a workflow in code form. */
export const ExportFormat = Schema.Literal(...FlowFileFormat.literals, "code")
export type ExportFormat = typeof ExportFormat.Type

/** `earlier`: what the first generation of steps took from their places and references stands as `dependsOn`. */
export const FileOrder = Schema.Literal("earlier")
export type FileOrder = typeof FileOrder.Type

/** The members of a file beside those of its document. */
export const fileMembers = {
  $schema: "The location of this schema, for editors. It is not stored.",
  name: "The name of the flow.",
  description: "What the flow does."
} as const

/** The member of a file that says for which order of steps it was written. */
export const generationDescription = `The generation of the order of steps. A file without it may be of the first one: an import warns if that ran the steps in another order. ${presentGeneration} is the present one.`

/** What a file says. */
export interface FlowFile {
  readonly name?: string
  readonly description?: string
  readonly generation?: number
  readonly spec: JsonObject
}

/** The flow of an import. */
export const FlowImport = Schema.Struct({
  format: FlowFileFormat,
  source: Schema.String.pipe(Schema.maxLength(bodyBytes.management)).annotations({
    description:
      "The text of the file. A `.flow.js` file is a module whose default export is the flow: an object as in `flow.json`, or `flow(name).trigger(…).step(…).response(…)`. It imports nothing and makes no calls."
  })
}).annotations({ identifier: "FlowImport", description: "Makes the flow that a file describes." })
export type FlowImport = typeof FlowImport.Type

/** A record of another workflow is named by its id, which means nothing elsewhere. */
const withoutIds = (spec: JsonObject): JsonObject => {
  const { customAuth } = spec
  if (!isObject(customAuth ?? null)) return spec
  const { workflowId: _, ...rest } = customAuth as JsonObject
  return { ...spec, customAuth: rest }
}

/** Members in the order in which people read them: these first and those last. A stored document has an order of its own. */
const firstMembers =
  "name description generation type trigger connector action path op over as channel when dependsOn".split(" ")
const lastMembers = "steps result else response".split(" ")
const ranks = new Map([
  ...firstMembers.map((name, at) => [name, at - firstMembers.length] as const),
  ...lastMembers.map((name, at) => [name, at + 1] as const)
])
const rankOf = ([name]: readonly [string, Json]): number => ranks.get(name) ?? 0

const inReadingOrder = (value: Json): Json => {
  if (isList(value)) return value.map(inReadingOrder)
  if (!isObject(value)) return value
  const members = Object.entries(value).toSorted((one, other) => rankOf(one) - rankOf(other))
  return Object.fromEntries(members.map(([name, child]) => [name, inReadingOrder(child)]))
}

const fileOf = ({ description, generation = 1, name, spec }: FlowFile): Json =>
  inReadingOrder({
    ...(name === undefined ? {} : { name }),
    ...(description === undefined || description === "" ? {} : { description }),
    ...(generation === 1 ? {} : { generation }),
    ...withoutIds(spec)
  })

/** The text of a flow's file. */
export const flowFileText = (format: FlowFileFormat, file: FlowFile): string =>
  format === "flow.json"
    ? `${JSON.stringify(fileOf(file), null, 2)}\n`
    : `export default ${literal(fileOf(file), "", textWithLines)}\n`

/** The flow of a file's members; the others are its document. */
export const flowOfFile = (members: JsonObject): { readonly [member in keyof FlowFile]: Json } => {
  const { $schema: _, description, generation, name, ...spec } = members
  return {
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    ...(generation === undefined ? {} : { generation }),
    spec
  }
}

/** The name and the media type of an exported file. Names of workflows are letters, digits, underscores and hyphens. */
export const fileKind = (format: ExportFormat, name: string): { readonly fileName: string; readonly type: string } => ({
  fileName: `${name.replaceAll(/[^\w-]/g, "_")}.${format === "code" ? "js" : format}`,
  type: format === "flow.json" ? "application/json" : "text/javascript"
})
