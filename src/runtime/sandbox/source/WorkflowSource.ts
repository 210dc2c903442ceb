/** The port `WorkflowSource`: reads source with acorn and never runs it. */
import { Effect, Either, Layer } from "effect"
import {
  type Analysis,
  type SourceIssue,
  SourceRejected,
  WorkflowSource
} from "../../../actors/ports/WorkflowSource.js"
import { findings } from "./Bindings.js"
import { compile, nestedTooDeeply } from "./Compile.js"
import { diagramOf } from "./Graph.js"
import { namesOf } from "./Names.js"
import { svgOf } from "./Svg.js"

/** Everything about a source in one pass of reading, or why it cannot become a workflow. */
export const analyse = (source: string): Either.Either<Analysis, ReadonlyArray<SourceIssue>> => {
  try {
    return Either.map(compile(source), (compiled) => {
      const names = namesOf(compiled.tree, compiled.main)
      return { script: compiled.script, ...findings(compiled, names), diagram: diagramOf(compiled, names) }
    })
  } catch (error) {
    if (error instanceof RangeError) return Either.left([nestedTooDeeply])
    throw error
  }
}

export const layer: Layer.Layer<WorkflowSource> = Layer.succeed(
  WorkflowSource,
  WorkflowSource.of({
    analyse: (source) =>
      Effect.suspend(() =>
        Either.match(analyse(source), {
          onLeft: (issues) => Effect.fail(new SourceRejected({ issues })),
          onRight: (analysis) => Effect.succeed(analysis)
        })
      ),
    svg: (diagram) => Effect.sync(() => svgOf(diagram))
  })
)
