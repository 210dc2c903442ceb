/** Analyses a workflow's source with acorn, without running it. */
import { Either } from "effect"
import type { WorkflowAnalysis, SourceIssue } from "../../../domain/WorkflowAnalysis.js"
import { findings } from "./Bindings.js"
import { compile, nestedTooDeeply } from "./Compile.js"
import { diagramOf } from "./Graph.js"
import { scopeNamesOf } from "./ScopeNames.js"

/** The analysis of a source, or why it cannot become a workflow. */
export const analyse = (source: string): Either.Either<WorkflowAnalysis, ReadonlyArray<SourceIssue>> => {
  try {
    return Either.map(compile(source), (compiled) => {
      const names = scopeNamesOf(compiled.tree, compiled.main)
      return { script: compiled.script, ...findings(compiled, names), diagram: diagramOf(compiled, names) }
    })
  } catch (error) {
    if (error instanceof RangeError) return Either.left([nestedTooDeeply])
    throw error
  }
}
