/** Finds the connector actions that the code calls, and warns of suspicious calls and unreachable code. */
import type { AnyNode, CallExpression } from "acorn"
import type { Binding, SourceIssue } from "../../../domain/workflow/WorkflowAnalysis.js"
import type { CompiledWorkflow } from "./Compile.js"
import { hostPath, type ScopeNames, type ServicePath, servicePaths, structurePaths } from "./ScopeNames.js"
import { isRecordService, type RecordService } from "../../../domain/unified/RecordCall.js"
import { isFunction } from "./Syntax.js"
import { answerItems } from "../../../domain/Limits.js"

export interface CallFindings {
  /** Each once, in the order of the source. Slugs are as written: `acmeCrm` may mean `acme-crm`. */
  readonly bindings: ReadonlyArray<Binding>
  readonly warnings: ReadonlyArray<SourceIssue>
}

export const findCalls = (compiled: CompiledWorkflow, names: ScopeNames): CallFindings => {
  const { tree } = compiled
  const bindings = new Map<string, Binding>()
  const warnings = new Map<string, SourceIssue>()
  const warn = (node: AnyNode, code: string, message: string) => {
    if (warnings.size >= answerItems.warnings) return
    const issue = tree.issue(node, code, message)
    warnings.set(`${code} ${issue.line} ${issue.column}`, issue)
  }
  const addBinding = (connector = "*", action = "*") => {
    bindings.set(`${connector} ${action}`, { connector, action })
  }

  /** A call of records, by its verb: `pages` and `all` list. */
  const addRecordBinding = (service: RecordService, path: ServicePath, isEscaping: boolean) => {
    const length = service === "cdm" ? 3 : 4
    const names = path.slice(1, length)
    const verb = names.at(-1)
    if (path.length < length || names.includes("*")) {
      if (isEscaping || names.includes("*")) addBinding(service)
    } else addBinding(service, [...names.slice(0, -1), verb === "pages" || verb === "all" ? "list" : verb].join("."))
  }

  const checkUse = (node: AnyNode, path: ServicePath, isEscaping: boolean) => {
    const [root, connector, action] = path
    if (root === undefined && isEscaping) {
      addBinding()
      warn(node, "DYNAMIC_NAME", "svc is passed on: the check cannot tell which connectors are used")
    }
    if (root === undefined || root.startsWith("@")) return
    if (structurePaths.has(root)) return
    if (!servicePaths.has(root)) {
      const message =
        root === "*"
          ? "svc is used with a computed name: write svc.connector, svc.db and so on, so that the use can be checked"
          : `svc.${root} does not exist (there are ${[...servicePaths, "step"].join(", ")})`
      return warn(node, root === "*" ? "DYNAMIC_NAME" : "UNKNOWN_CALL", message)
    }
    if (isRecordService(root)) return addRecordBinding(root, path, isEscaping)
    if (root !== "connector") return
    if (path.length >= 3) addBinding(connector, action)
    else if (isEscaping) addBinding(connector)
    if (connector === "*" || action === "*" || (path.length < 3 && isEscaping)) {
      warn(
        node,
        "DYNAMIC_NAME",
        "the connector or action is not named here: at run time only connectors bound elsewhere can be reached"
      )
    }
  }

  const patternProperties = new Set<AnyNode>()
  const endsBlockMemo = new Map<AnyNode, boolean>()
  tree.nodes.forEach((node, at) => {
    const parent = tree.nodes[tree.parents[at] ?? -1]
    if (node.type === "MemberExpression" || node.type === "Identifier") {
      if (parent?.type === "MemberExpression" && parent.object === node)
        return warnNotAwaited(node, parent, names, warn)
      const isEscaping = parent !== undefined && !patternProperties.has(parent) && isValueEscaping(node, parent, names)
      for (const path of names.pathsOf(node)) {
        if (node.type === "MemberExpression" || isEscaping || path.length > 2) checkUse(node, path, isEscaping)
      }
    } else if (node.type === "ObjectPattern") {
      for (const property of node.properties) patternProperties.add(property)
    } else if (node.type === "CallExpression") {
      warnOfCall(node, names, warn)
    } else if (node.type === "BlockStatement" || node.type === "Program") {
      warnUnreachable(node.body, endsBlockMemo, warn)
    } else if (node.type === "SwitchCase") warnUnreachable(node.consequent, endsBlockMemo, warn)
    if (parent !== undefined) warnNotAwaited(node, parent, names, warn)
  })
  const byPosition = [...warnings.values()].sort((a, b) => a.line - b.line || a.column - b.column)
  return { bindings: [...bindings.values()], warnings: byPosition }
}

type Warn = (node: AnyNode, code: string, message: string) => void

/** Whether a value escapes the analysis: passed to another function, stored, or returned. */
const isValueEscaping = (node: AnyNode, parent: AnyNode | undefined, names: ScopeNames): boolean => {
  switch (parent?.type) {
    case "CallExpression":
      return (
        parent.callee !== node &&
        !(parent.callee.type === "Identifier" && names.functionOf(parent.callee.name) !== undefined)
      )
    case "NewExpression":
    case "ArrayExpression":
    case "ReturnStatement":
    case "SpreadElement":
    case "ForOfStatement":
    case "ForInStatement":
      return true
    case "Property":
      return parent.value === node && parent.kind === "init" && !parent.shorthand
    case "ArrowFunctionExpression":
      return parent.body === node
    default:
      return false
  }
}

const warnOfCall = (node: CallExpression, names: ScopeNames, warn: Warn) => {
  for (const path of names.pathsOf(node.callee)) {
    if (path[0] === "connector" && path.length < 3)
      warn(node, "UNKNOWN_CALL", "expected svc.connector.<slug>.<action>(args)")
    if (path[0] === "db" && path[1] === "query" && !names.isConstant(node.arguments[0])) {
      warn(
        node,
        "DYNAMIC_SQL",
        "the statement of svc.db.query is not constant text: put values into params ($1, $2 …), never into the statement"
      )
    }
  }
}

// --- Calls that are not awaited ---

const chainMethods: ReadonlySet<string> = new Set(["then", "catch", "finally"])

/** The host call at the root of a promise chain such as `svc.x.y.z().then(…)`. */
const findHostCall = (node: AnyNode, names: ScopeNames): CallExpression | undefined => {
  if (node.type === "ChainExpression") return findHostCall(node.expression, names)
  if (node.type !== "CallExpression") return undefined
  if (hostPath(names, node.callee) !== undefined) return node
  const { callee } = node
  const isChained =
    callee.type === "MemberExpression" &&
    callee.property.type === "Identifier" &&
    chainMethods.has(callee.property.name)
  return isChained ? findHostCall(callee.object, names) : undefined
}

const warnNotAwaited = (node: AnyNode, parent: AnyNode, names: ScopeNames, warn: Warn) => {
  const isPromiseLost =
    parent.type === "ExpressionStatement" ||
    (parent.type === "UnaryExpression" && parent.operator !== "delete") ||
    (parent.type === "MemberExpression" &&
      parent.object === node &&
      !(parent.property.type === "Identifier" && chainMethods.has(parent.property.name)))
  const call = isPromiseLost ? findHostCall(node, names) : undefined
  if (call === undefined) return
  const message =
    parent.type === "MemberExpression"
      ? "this reads a member of a promise: await the call first"
      : "this call is not awaited: the run may end before the call is done, and its failure goes unnoticed"
  warn(call, "NOT_AWAITED", message)
}

// --- Unreachable code ---

const warnUnreachable = (statements: ReadonlyArray<AnyNode>, memo: Map<AnyNode, boolean>, warn: Warn) => {
  const end = statements.findIndex((node) => endsBlock(node, memo))
  const rest = end < 0 ? [] : statements.slice(end + 1)
  const next = rest.find((node) => !isFunction(node) && node.type !== "EmptyStatement")
  if (next !== undefined) warn(next, "UNREACHABLE", "this code is unreachable")
}

/** Whether control never reaches the statements after this one in its block. */
const endsBlock = (node: AnyNode, memo: Map<AnyNode, boolean>): boolean => {
  const remembered = memo.get(node)
  if (remembered !== undefined) return remembered
  const found = computeEndsBlock(node, memo)
  memo.set(node, found)
  return found
}

const computeEndsBlock = (node: AnyNode, memo: Map<AnyNode, boolean>): boolean => {
  switch (node.type) {
    case "ReturnStatement":
    case "ThrowStatement":
    case "BreakStatement":
    case "ContinueStatement":
      return true
    case "IfStatement":
      return node.alternate ? endsBlock(node.consequent, memo) && endsBlock(node.alternate, memo) : false
    case "BlockStatement":
      return node.body.some((child) => endsBlock(child, memo))
    case "TryStatement":
      if (node.finalizer && endsBlock(node.finalizer, memo)) return true
      return endsBlock(node.block, memo) && (!node.handler || endsBlock(node.handler.body, memo))
    default:
      return false
  }
}
