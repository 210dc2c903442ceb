/**
 * Finds the names of a workflow that refer to the services of `svc` and `ctx`: by members, aliases, destructuring and
 * parameters of local functions. Scopes are not distinguished: a name declared twice has the meanings of both.
 */
import type { AnyNode } from "acorn"
import { children, constantText, type FunctionNode, isFunction, type Tree } from "./Syntax.js"

/** Members from `svc` on, e.g. `connector`, `crm`, `list`; `*` stands for a computed name. */
export type ServicePath = ReadonlyArray<string>

export interface ScopeNames {
  /** Every service path that an expression may refer to. */
  readonly pathsOf: (node: AnyNode | null | undefined) => ReadonlyArray<ServicePath>
  /** The local function that a name is declared as. */
  readonly functionOf: (name: string) => FunctionNode | undefined
  /** Whether an expression is text that is the same in every run. */
  readonly isConstant: (node: AnyNode | null | undefined) => boolean
}

/** The first member of paths that do not begin at `svc`. */
const context = "@ctx"
const globalObject = "@global"
const maxPathLength = 6
const maxPaths = 8
const maxRounds = 4

const extendPath = (path: ServicePath, member: string): ServicePath => {
  if (path.length === 1 && path[0] === globalObject) return member === "svc" ? [] : [globalObject, member]
  if (path.length === 1 && path[0] === context) return member === "connectors" ? ["connector"] : [context, member]
  if (path.length === 0 && member === "connectors") return ["connector"]
  return path.length >= maxPathLength ? path : [...path, member]
}

export const collectScopeNames = (tree: Tree, main: FunctionNode): ScopeNames => {
  const aliases = new Map<string, Map<string, ServicePath>>([
    ["svc", new Map([["", []]])],
    ["globalThis", new Map([[globalObject, [globalObject]]])]
  ])
  const functions = new Map<string, FunctionNode>()
  const constants = new Map<string, AnyNode | null>()
  let memo = new Map<AnyNode, ReadonlyArray<ServicePath>>()
  let changed = false

  const pathsOf = (node: AnyNode | null | undefined): ReadonlyArray<ServicePath> => {
    if (node === null || node === undefined) return []
    const memoized = memo.get(node)
    if (memoized !== undefined) return memoized
    const found = findPaths(node)
    memo.set(node, found)
    return found
  }

  const findPaths = (node: AnyNode): ReadonlyArray<ServicePath> => {
    switch (node.type) {
      case "Identifier":
        return [...(aliases.get(node.name)?.values() ?? [])]
      case "MemberExpression": {
        const member = memberName(node.property, node.computed)
        return pathsOf(node.object).map((path) => extendPath(path, member))
      }
      case "ChainExpression":
      case "ParenthesizedExpression":
        return pathsOf(node.expression)
      case "ConditionalExpression":
        return [...pathsOf(node.consequent), ...pathsOf(node.alternate)]
      case "LogicalExpression":
        return [...pathsOf(node.left), ...pathsOf(node.right)]
      case "AssignmentExpression":
        return pathsOf(node.right)
      default:
        return []
    }
  }

  const bindName = (name: string, path: ServicePath) => {
    const paths = aliases.get(name)
    if (paths !== undefined && paths.size >= maxPaths) return
    const key = path.join(".")
    if (paths?.has(key)) return
    if (paths === undefined) aliases.set(name, new Map([[key, path]]))
    else paths.set(key, path)
    changed = true
  }

  const bind = (pattern: AnyNode, path: ServicePath): void => {
    if (pattern.type === "Identifier") bindName(pattern.name, path)
    else if (pattern.type === "AssignmentPattern") bind(pattern.left, path)
    else if (pattern.type === "RestElement") bind(pattern.argument, path)
    else if (pattern.type === "ObjectPattern") {
      for (const property of pattern.properties) {
        if (property.type === "RestElement") bind(property.argument, path)
        else bind(property.value, extendPath(path, memberName(property.key, property.computed)))
      }
    }
  }

  const bindAll = (pattern: AnyNode | undefined, value: AnyNode | null | undefined) => {
    if (pattern !== undefined) for (const path of pathsOf(value)) bind(pattern, path)
  }

  const bindAliases = (node: AnyNode) => {
    if (node.type === "VariableDeclarator") bindAll(node.id, node.init)
    else if (node.type === "AssignmentExpression" || node.type === "AssignmentPattern") bindAll(node.left, node.right)
    else if (node.type === "CallExpression" && node.callee.type === "Identifier") {
      const callee = functions.get(node.callee.name)
      node.arguments.forEach((argument, at) => bindAll(callee?.params[at], argument))
    }
  }

  const aliasingNodes: Array<AnyNode> = []
  for (const node of tree.nodes) {
    if (aliasingTypes.has(node.type)) aliasingNodes.push(node)
    if (node.type === "FunctionDeclaration") functions.set(node.id?.name ?? "", node)
    else if (node.type === "VariableDeclaration") {
      for (const { id, init } of node.declarations) {
        if (id.type !== "Identifier") continue
        if (isFunction(init)) functions.set(id.name, init)
        // `null`: declared twice or not as a constant, so that its value is unknown.
        constants.set(id.name, node.kind === "const" && !constants.has(id.name) ? (init ?? null) : null)
      }
    }
  }
  const [parameter] = main.params
  if (parameter !== undefined) bind(parameter, [context])
  for (let round = 0; round < maxRounds; round++) {
    changed = false
    for (const node of aliasingNodes) bindAliases(node)
    memo = new Map()
    if (!changed) break
  }

  const isConstant = (node: AnyNode | null | undefined, depth = 0): boolean => {
    if (node === null || node === undefined || depth > 50) return false
    if (constantText(node) !== undefined) return true
    if (node.type === "BinaryExpression")
      return node.operator === "+" && children(node).every((side) => isConstant(side, depth + 1))
    if (node.type === "TemplateLiteral") return node.expressions.every((part) => isConstant(part, depth + 1))
    return node.type === "Identifier" && isConstant(constants.get(node.name), depth + 1)
  }

  return { pathsOf, functionOf: (name) => functions.get(name), isConstant }
}

const aliasingTypes: ReadonlySet<string> = new Set([
  "VariableDeclarator",
  "AssignmentExpression",
  "AssignmentPattern",
  "CallExpression"
])

const memberName = (property: AnyNode, computed: boolean): string => {
  if (!computed && property.type === "Identifier") return property.name
  return constantText(property) ?? "*"
}

/** The services of `svc` whose members are host calls. */
export const servicePaths: ReadonlySet<string> = new Set([
  "connector",
  "unified",
  "cdm",
  "db",
  "state",
  "secrets",
  "envConfig",
  "diff",
  "sync"
])

/** The members of `svc` that take functions and make no host call themselves. */
export const structurePaths: ReadonlySet<string> = new Set(["step", "flow"])

/** The service path of a host call; `undefined` for any other call. */
export const hostPath = (names: ScopeNames, callee: AnyNode): ServicePath | undefined =>
  names
    .pathsOf(callee)
    .find((path) => servicePaths.has(path[0] ?? "") && path.length >= (path[0] === "connector" ? 3 : 2))
