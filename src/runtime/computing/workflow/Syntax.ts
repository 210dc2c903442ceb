/** The syntax tree of a workflow's source, with positions, children in source order, and excerpts. */
import type { AnyNode } from "acorn"
import type * as acorn from "acorn"
import type { SourceIssue } from "../../../domain/workflow/WorkflowAnalysis.js"

export type FunctionNode =
  | acorn.FunctionDeclaration
  | acorn.AnonymousFunctionDeclaration
  | acorn.FunctionExpression
  | acorn.ArrowFunctionExpression

/** A parsed source. Its nodes are also in one list, so that passes over them need no recursion. */
export interface Tree {
  readonly source: string
  readonly program: acorn.Program
  /** Parents before children, in source order; the first is the program. */
  readonly nodes: ReadonlyArray<AnyNode>
  /** The index of each node's parent; -1 for the program. */
  readonly parents: ReadonlyArray<number>
  /** Where a node begins. Line and column count from 1. */
  readonly position: (node: AnyNode) => { readonly line: number; readonly column: number }
  readonly issue: (node: AnyNode, code: string, message: string) => SourceIssue
}

/** More nodes than half a megabyte of ordinary code has. */
const maxTreeNodes = 250_000

/** `undefined` if the source has more than `maxTreeNodes` nodes. */
export const buildTree = (source: string, program: acorn.Program): Tree | undefined => {
  const nodes: Array<AnyNode> = []
  const parents: Array<number> = []
  const add = (node: AnyNode, parent: number): void => {
    const index = nodes.push(node) - 1
    parents.push(parent)
    if (index >= maxTreeNodes) return
    for (const child of children(node)) add(child, index)
  }
  add(program, -1)
  if (nodes.length > maxTreeNodes) return undefined
  const position = makeLocator(source)
  const issue = (node: AnyNode, code: string, message: string) => {
    const { column, line } = position(node)
    return { code, message: code === "SYNTAX_ERROR" ? syntaxMessage(line, column, message) : message, line, column }
  }
  return { source, program, nodes, parents, position, issue }
}

const makeLocator = (source: string): Tree["position"] => {
  const starts = [0]
  for (const end of source.matchAll(/\r\n|[\n\r\u2028\u2029]/g)) starts.push(end.index + end[0].length)
  return (node) => {
    let low = 0
    let high = starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((starts[middle] ?? 0) <= node.start) low = middle
      else high = middle - 1
    }
    return { line: low + 1, column: node.start - (starts[low] ?? 0) + 1 }
  }
}

export const isFunction = (node: AnyNode | null | undefined): node is FunctionNode =>
  node !== null &&
  node !== undefined &&
  (node.type === "FunctionDeclaration" || node.type === "FunctionExpression" || node.type === "ArrowFunctionExpression")

/** The direct children of a node in the order of the source. */
export const children = (node: AnyNode): ReadonlyArray<AnyNode> => {
  const found: Array<AnyNode> = []
  for (const value of Object.values(node)) {
    if (Array.isArray(value)) {
      for (const item of value) if (isNode(item)) found.push(item)
    } else if (isNode(value)) found.push(value)
  }
  const sorted = found.every((child, at) => at === 0 || (found[at - 1]?.start ?? 0) <= child.start)
  return sorted ? found : found.sort((a, b) => a.start - b.start)
}

/** The source of a node on one line, cut to `length` characters. */
export const excerpt = (source: string, node: AnyNode, length: number): string => {
  const line = source
    .slice(node.start, Math.min(node.end, node.start + 4 * length))
    .replace(/\s+/g, " ")
    .trim()
  const isComplete = node.end - node.start <= 4 * length
  return isComplete && line.length <= length ? line : `${line.slice(0, length - 1)}…`
}

/** The text of a literal or of a template without expressions. */
export const constantText = (node: AnyNode | null | undefined): string | undefined => {
  if (node?.type === "Literal" && (typeof node.value === "string" || typeof node.value === "number"))
    return String(node.value)
  if (node?.type === "TemplateLiteral" && node.expressions.length === 0)
    return node.quasis[0]?.value.cooked ?? undefined
  return undefined
}

const isNode = (value: unknown): value is AnyNode =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string"

/** A syntax error says its place also in its words: most clients show only these. */
export const syntaxMessage = (line: number, column: number, message: string): string =>
  `line ${line}, column ${column}: ${message}`
