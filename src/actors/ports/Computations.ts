/**
 * Computes what a tenant chose the cost of: its patterns, schemas, documents, sources and drawings. A computation runs
 * in a jailed process with a deadline and a memory cap, never on the main loop, and organisations take turns.
 */
import type { Effect } from "effect"
import { Context, Data } from "effect"
import type { ConnectorDefinition } from "../../domain/connector/Definition.js"
import type { ImportWarning } from "../../domain/connector/import/OpenApiDocument.js"
import type { OpenApiOptions } from "../../domain/connector/import/OpenApi.js"
import type { Detail, Unavailable } from "../../domain/Failure.js"
import type { OrganisationId } from "../../domain/Ids.js"
import type { Json, JsonObject } from "../../domain/Json.js"
import type { DiffLine } from "../../domain/LineDiff.js"
import type { WorkflowAnalysis, Diagram, SourceIssue } from "../../domain/WorkflowAnalysis.js"

/** A result, or every mistake in the input with its path. Plain data: it crosses a process boundary. */
export type Judged<Value, Mistake = Detail> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly mistakes: ReadonlyArray<Mistake> }

/** Every computation, with what it takes and what it answers. */
export interface ComputationTable {
  /** What is wrong with JSON Schemas (2020-12): unusable patterns, unknown references, endless references. Paths begin with the name. */
  readonly checkSchemas: {
    readonly input: { readonly [name: string]: JsonObject }
    readonly output: ReadonlyArray<Detail>
  }
  /** Where a value breaks a schema that `checkSchemas` accepted; empty when it does not. At most 20. */
  readonly checkValue: {
    readonly input: { readonly schema: JsonObject; readonly value: Json }
    readonly output: ReadonlyArray<Detail>
  }
  /** Which of the patterns match their text. One that is no pattern matches nothing. */
  readonly matchPatterns: {
    readonly input: ReadonlyArray<{ readonly pattern: string; readonly text: string }>
    readonly output: ReadonlyArray<boolean>
  }
  /** A connector definition from a JSON document that somebody wrote. `allowsHttp`: the caller judges URLs without TLS. */
  readonly readDefinition: {
    readonly input: { readonly document: JsonObject; readonly allowsHttp: boolean }
    readonly output: Judged<ConnectorDefinition>
  }
  /**
   * A connector definition from a document: an OpenAPI document, or a definition file. `source` is the document parsed
   * already, or its text in JSON or YAML; `path` is where the request has it. The options override what it says.
   */
  readonly importDefinition: {
    readonly input: {
      readonly source: Json
      readonly path: string
      readonly format: "openapi" | "svc"
      readonly options: OpenApiOptions
      readonly allowsHttp?: boolean
    }
    readonly output: Judged<{
      readonly definition: ConnectorDefinition
      readonly warnings: ReadonlyArray<ImportWarning>
    }>
  }
  /** What a workflow's source is and uses. */
  readonly analyseWorkflow: { readonly input: string; readonly output: Judged<WorkflowAnalysis, SourceIssue> }
  /** A diagram laid out and drawn, as SVG. */
  readonly drawDiagram: { readonly input: Diagram; readonly output: string }
  /** The lines that two texts share and those that they do not. */
  readonly diffLines: {
    readonly input: { readonly from: string; readonly to: string }
    readonly output: ReadonlyArray<DiffLine>
  }
}

export type ComputationName = keyof ComputationTable

/** The input makes the computation take longer, or hold more, than it may. The same input will do so again. */
export class TooCostly extends Data.TaggedError("TooCostly")<{
  readonly computation: ComputationName
  readonly exceeded: "time" | "memory"
  /** The computing time that was allowed, in milliseconds. */
  readonly allowedMillis: number
}> {}

export class Computations extends Context.Tag("svc/Computations")<
  Computations,
  {
    /**
     * Fails with `TooCostly` when the deadline or the memory cap ends it, and with `Unavailable` when the organisation
     * has too many computations waiting already. A computation whose caller is interrupted is dropped from the queue.
     */
    readonly compute: <Name extends ComputationName>(
      name: Name,
      organisation: OrganisationId,
      input: ComputationTable[Name]["input"]
    ) => Effect.Effect<ComputationTable[Name]["output"], TooCostly | Unavailable>
  }
>() {}

/** What to tell whoever sent the input. */
export const tooCostlyDetail = (path: string, { allowedMillis, exceeded }: TooCostly): Detail => ({
  path,
  code: "TOO_COSTLY",
  message:
    exceeded === "time"
      ? `takes more than ${allowedMillis} ms to process: make it smaller, and its patterns and references simpler`
      : "takes too much memory to process: make it smaller"
})
