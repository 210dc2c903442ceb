/** Analyses a workflow's source without running it: yields the script, the bindings, warnings and a diagram. */
import { Either } from "effect"
import type { WorkflowAnalysis, SourceIssue } from "../../../domain/workflow/WorkflowAnalysis.js"
import { findCalls } from "./Bindings.js"
import { withLibrary } from "../../sandbox/runner/Script.js"
import { compile, tooDeepIssue } from "./Compile.js"
import { libraryOf } from "./FlowUse.js"
import { diagramOf } from "./Diagram.js"
import { collectScopeNames } from "./ScopeNames.js"

/** Left: every reason why the source cannot become a workflow. */
export const analyse = (source: string): Either.Either<WorkflowAnalysis, ReadonlyArray<SourceIssue>> => {
  try {
    return Either.map(compile(source), (compiled) => {
      const names = collectScopeNames(compiled.tree, compiled.main)
      const library = libraryOf(compiled.tree, names)
      const script = library === undefined ? compiled.script : withLibrary(library, compiled.script)
      return { script, ...findCalls(compiled, names), diagram: diagramOf(compiled, names) }
    })
  } catch (error) {
    // A stack overflow: the parser and the analysis recurse.
    if (error instanceof RangeError) return Either.left([tooDeepIssue])
    throw error
  }
}
