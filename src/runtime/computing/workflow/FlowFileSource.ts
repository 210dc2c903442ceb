/**
 * Compiles the module of a flow's file to a script that gives the module's default export as data. Lines and columns stay the
 * same but for the columns of the first line.
 */
import { Either } from "effect"
import type { SourceIssue } from "../../../domain/workflow/WorkflowAnalysis.js"
import { flowFilePrefix, flowFileSuffix } from "../../sandbox/flow/FlowScript.js"
import { isFunction } from "./Syntax.js"
import { moduleTextOf, noDefaultIssue, readModule, tooDeepIssue } from "./Compile.js"

const form = 'export default { name: "…", steps: [ … ] }, or export default flow("…").step({ … })'

/** Left: every reason why the source is no module of a flow. */
export const compileFlowFile = (source: string): Either.Either<string, ReadonlyArray<SourceIssue>> => {
  try {
    return Either.flatMap(readModule(source), ({ defaults, issues, tree }) => {
      const [statement] = defaults
      if (statement === undefined) return Either.left([...issues, noDefaultIssue(form)])
      if (issues.length > 0) return Either.left(issues)
      const { declaration } = statement
      if (isFunction(declaration) || declaration.type === "ClassDeclaration")
        return Either.left([tree.issue(statement, "DEFAULT_NOT_FLOW", `the default export must be a flow: ${form}`)])
      const { name, text } = moduleTextOf(source, { statement, name: undefined })
      return Either.right(`${flowFilePrefix}${text}${flowFileSuffix(name)}`)
    })
  } catch (error) {
    // A stack overflow: the parser recurses.
    if (error instanceof RangeError) return Either.left([tooDeepIssue])
    throw error
  }
}

/** A place in the module that a stack of the script names; `undefined` if none does. */
export const placeOf = (stack: string, source: string): Pick<SourceIssue, "line" | "column"> | undefined => {
  const lines = source.split("\n").length
  for (const [, line = "", column = ""] of stack.matchAll(/workflow\.js:(\d+):(\d+)/g)) {
    const place = { line: Number(line), column: Number(column) - (line === "1" ? flowFilePrefix.length : 0) }
    if (place.column > 0 && place.line <= lines) return place
  }
  return undefined
}
