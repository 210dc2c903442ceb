/** Finds the operation of a provider's document that an action calls: by method and path, with any value in templates. */
import { cachedPath } from "../../expression/Path.js"
import { cachedTemplate } from "../../expression/Template.js"
import { isObject } from "../../Json.js"
import type { ActionDefinition } from "../Action.js"
import type { ConnectorDefinition } from "../Definition.js"
import { objectAt, textAt } from "../import/OpenApiDocument.js"
import { ownOrigin } from "../request/BaseUrl.js"
import type { ProviderDocument, PublishedOperation } from "./PublishedOperation.js"

/** The operation and its document. */
export interface FoundOperation {
  readonly document: ProviderDocument
  readonly operation: PublishedOperation
}

/** What an action calls; `methods`: those that documents have at the action's path, if none is the action's. */
export type OperationMatch = FoundOperation | { readonly methods: ReadonlyArray<string> }

/** The operation of an action, the one with the most literal path if several fit. */
export const findOperation = (
  documents: ReadonlyArray<ProviderDocument>,
  definition: ConnectorDefinition,
  action: ActionDefinition
): OperationMatch => {
  const path = actionPath(definition, action)
  const patterns = segmentPatterns(action)
  const matches = documents.flatMap((document) =>
    document.operations.flatMap((operation) => {
      const score = matchPath(path, segmentsOf(operation.path), patterns)
      return score === undefined ? [] : [{ document, operation, score }]
    })
  )
  const best = Math.max(...matches.map(({ score }) => score))
  const fitting = matches.filter(({ operation }) => operation.method === action.request.method)
  const [found] = fitting.sort((a, b) => b.score - a.score)
  return (
    found ?? { methods: [...new Set(matches.filter(({ score }) => score === best).map((one) => one.operation.method))] }
  )
}

/** The segments of an action's path: text, or the path into its arguments that a template reads. */
interface ActionPath {
  readonly segments: ReadonlyArray<PathSegment>
  /** Whether the base URL is the connection's, so that documents may have more before the path. */
  readonly isBaseKnown: boolean
}

type PathSegment =
  | { readonly tag: "text"; readonly text: string }
  | { readonly tag: "value"; readonly name: string; readonly isMany: boolean }

const actionPath = ({ baseUrl }: ConnectorDefinition, { request }: ActionDefinition): ActionPath => {
  const own = ownOrigin(request.path)
  const isMany = request.pathValues === "segments"
  if (own !== undefined) return { segments: pathSegments(request.path.slice(own.length), isMany), isBaseKnown: true }
  const isConfigured = !/^https?:\/\/[^/]/.test(baseUrl) || baseUrl.startsWith("{{")
  const base = isConfigured
    ? baseUrl.replace(/^[^}]*\}\}/, "")
    : baseUrl.replace(/^https?:\/\/(?:[^/{]|\{\{[^}]*\}\})*/, "")
  return {
    segments: [...pathSegments(base, false), ...pathSegments(request.path, isMany)],
    isBaseKnown: !isConfigured
  }
}

/** A segment that is text and a value is a value. */
const pathSegments = (path: string, isMany: boolean): ReadonlyArray<PathSegment> => {
  const names: Array<string> = []
  const text = cachedTemplate(path)
    .map((part) => {
      if (part._tag === "Text") return part.text
      const [operand] = part.operands
      names.push(operand?._tag === "Path" ? operand.path.slice(1).join(".") : "")
      return `{${names.length - 1}}`
    })
    .join("")
  return segmentsOf(text.replace(/[?#].*$/, "")).map((segment): PathSegment => {
    const value = /\{(\d+)\}/.exec(segment)
    return value === null
      ? { tag: "text", text: segment }
      : { tag: "value", name: names[Number(value[1])] ?? "", isMany: isMany && value[0] === segment }
  })
}

const segmentsOf = (path: string): ReadonlyArray<string> => path.split("/").filter((segment) => segment !== "")

/** The patterns of values of several segments, by argument and cut at their slashes. */
const segmentPatterns = ({ inputSchema, request }: ActionDefinition): ReadonlyMap<string, ReadonlyArray<string>> => {
  if (request.pathValues !== "segments") return new Map()
  return new Map(
    Object.entries(objectAt(inputSchema, "properties")).flatMap(([name, schema]) => {
      const pattern = isObject(schema) ? textAt(schema, "pattern") : undefined
      return pattern === undefined ? [] : [[name, pattern.split("/")] as const]
    })
  )
}

/** The most segments of a document's path that one value is tried for. */
const maxValueSegments = 8

/** How literally a document's path is the action's; `undefined`: not at all. */
const matchPath = (
  { isBaseKnown, segments }: ActionPath,
  documented: ReadonlyArray<string>,
  patterns: ReadonlyMap<string, ReadonlyArray<string>>
): number | undefined => {
  const match = (at: number, from: number): number | undefined => {
    const segment = segments[at]
    if (segment === undefined) return from === documented.length ? 0 : undefined
    const last =
      segment.tag === "value" && segment.isMany ? Math.min(documented.length, from + maxValueSegments) : from + 1
    let best: number | undefined
    for (let end = from + 1; end <= last && end <= documented.length; end++) {
      const rest = match(at + 1, end)
      const score = rest === undefined ? undefined : scoreOf(segment, documented.slice(from, end), patterns)
      if (rest !== undefined && score !== undefined) best = Math.max(best ?? 0, rest + score)
    }
    return best
  }
  if (isBaseKnown) return match(0, 0)
  for (let from = 0; from <= documented.length; from++) {
    const found = match(0, from)
    if (found !== undefined) return found
  }
  return undefined
}

const scoreOf = (
  segment: PathSegment,
  documented: ReadonlyArray<string>,
  patterns: ReadonlyMap<string, ReadonlyArray<string>>
): number | undefined => {
  const [first = ""] = documented
  const isVariable = first.includes("{")
  if (segment.tag === "text") return segment.text === first ? 3 : isVariable ? 1 : undefined
  if (!segment.isMany) return isVariable ? 2 : 0
  const pattern = patterns.get(segment.name)
  const isFitting =
    pattern === undefined ||
    (pattern.length === documented.length &&
      documented.every((one, at) => one.includes("{") || pattern[at]?.includes(one) === true))
  return isFitting ? 1 : undefined
}

/** The steps of a data path; `undefined`: it cannot be read. */
export const stepsOf = (path: string): ReadonlyArray<string | null> | undefined => {
  const parsed = cachedPath(path.replaceAll("[*]", "[0]"))
  return "mistake" in parsed ? undefined : parsed.value.map((segment) => (typeof segment === "number" ? null : segment))
}
