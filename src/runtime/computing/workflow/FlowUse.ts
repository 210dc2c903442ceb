/** What a workflow's source needs of the library of steps: which part of it, and the patterns of its conditions. */
import { Either } from "effect"
import type { ObjectExpression } from "acorn"
import { compilePattern } from "../../../domain/expression/Pattern.js"
import type { PatternProgram } from "../../../domain/expression/PatternProgram.js"
import { libraryWithFlow, stepLibrary } from "../../sandbox/flow/FlowScript.js"
import type { ScopeNames } from "./ScopeNames.js"
import { constantText, type Tree } from "./Syntax.js"

/** The library that a workflow's script brings along: of `svc.flow`, or of `svc.step`, or none. */
export const libraryOf = (tree: Tree, names: ScopeNames): string | undefined => {
  const used = new Set(
    tree.nodes.flatMap((node) =>
      node.type === "MemberExpression" || node.type === "Identifier" ? names.pathsOf(node).map(([root]) => root) : []
    )
  )
  if (used.has("flow")) return libraryWithFlow(patternsIn(tree))
  return used.has("step") ? stepLibrary : undefined
}

/** Why a pattern cannot be used; `undefined` if it can. */
export const patternMistake = (pattern: string): string | undefined =>
  Either.match(compilePattern(pattern), { onLeft: (mistake) => mistake, onRight: () => undefined })

/** The compiled patterns of the conditions in a source: constant values beside `op: "matches"`. */
const patternsIn = (tree: Tree): { readonly [pattern: string]: PatternProgram } => {
  const found: Record<string, PatternProgram> = {}
  for (const node of tree.nodes) {
    if (node.type !== "ObjectExpression" || memberText(node, "op") !== "matches") continue
    const pattern = memberText(node, "value")
    const program = pattern === undefined ? undefined : Either.getOrUndefined(compilePattern(pattern))
    if (pattern !== undefined && program !== undefined) found[pattern] = program
  }
  return found
}

const memberText = (node: ObjectExpression, name: string): string | undefined => {
  for (const property of node.properties) {
    if (property.type !== "Property" || property.computed) continue
    const key = property.key.type === "Identifier" ? property.key.name : constantText(property.key)
    if (key === name) return constantText(property.value)
  }
  return undefined
}
