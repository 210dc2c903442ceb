/**
 * Computations whose cost a tenant's input determines: patterns, schemas, documents, sources, drawings. Each runs in a
 * jailed process with a deadline and a memory cap, never on the main thread, and accounts take turns, as their organisations do.
 */
import { type Effect, Context, Data } from "effect"
import type { ConnectorDefinition } from "../../domain/connector/Definition.js"
import type { PatternProgram } from "../../domain/expression/PatternProgram.js"
import type { ImportWarning } from "../../domain/connector/import/OpenApiDocument.js"
import type { OpenApiOptions } from "../../domain/connector/import/OpenApi.js"
import type { Detail, Unavailable } from "../../domain/Failure.js"
import type { OrganisationId } from "../../domain/Ids.js"
import type { Json, JsonObject } from "../../domain/Json.js"
import type { DiffLine } from "../../domain/LineDiff.js"
import type { MapLoss } from "../../domain/mapping/FieldMapRecord.js"
import type { LossyMap } from "../../domain/mapping/inspect/MapLosses.js"
import type { MapTraceInput, MapTraceResult } from "../../domain/mapping/inspect/MapTrace.js"
import type { FlowResume, ResumedFlow, StepChanges } from "../../domain/flow/Resume.js"
import type { ExportFormat, FileOrder, FlowFile, FlowImport } from "../../domain/flow/FlowFile.js"
import type { FlowUses, KnownConnectors } from "../../domain/flow/Checks.js"
import type {
  Diagram,
  FlowAnalysis,
  SourceIssue,
  StepAnalysis,
  WorkflowAnalysis
} from "../../domain/workflow/WorkflowAnalysis.js"

/** A value, or all mistakes in the input with their paths. Plain data, because it crosses a process boundary. */
export type Validated<Value, Mistake = Detail> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly mistakes: ReadonlyArray<Mistake> }

/** A compiled pattern, or why it cannot be used. */
export type CompiledPattern = { readonly program: PatternProgram } | { readonly mistake: string }

/** The input and the output of every computation. */
export interface ComputationTable {
  /** Mistakes in JSON Schemas (2020-12): unusable patterns, unknown or endless references. Paths begin with the name. */
  readonly checkSchemas: {
    readonly input: { readonly [name: string]: JsonObject }
    readonly output: ReadonlyArray<Detail>
  }
  /** Where a value breaks a schema that `checkSchemas` accepted; empty when it does not. At most 20. */
  readonly checkValue: {
    readonly input: { readonly schema: JsonObject; readonly value: Json }
    readonly output: ReadonlyArray<Detail>
  }
  /** Which of the patterns match their text. An invalid pattern matches nothing. */
  readonly matchPatterns: {
    readonly input: ReadonlyArray<{ readonly pattern: string; readonly text: string }>
    readonly output: ReadonlyArray<boolean>
  }
  /** Compiles patterns of conditions, each alone. */
  readonly compilePatterns: {
    readonly input: ReadonlyArray<string>
    readonly output: ReadonlyArray<CompiledPattern>
  }
  /** Reads a connector definition from JSON. `allowsHttp`: URLs without TLS are left to the caller to check. */
  readonly readDefinition: {
    readonly input: { readonly document: JsonObject; readonly allowsHttp: boolean }
    readonly output: Validated<ConnectorDefinition>
  }
  /**
   * Makes a connector definition from an OpenAPI document, a Postman collection or a definition file. `source`: the parsed document, or its text
   * in JSON or YAML. `path`: its place in the request, for mistakes. The options override the document.
   */
  readonly importDefinition: {
    readonly input: {
      readonly source: Json
      readonly path: string
      readonly format: "openapi" | "postman" | "svc"
      readonly options: OpenApiOptions
      readonly allowsHttp?: boolean
    }
    readonly output: Validated<{
      readonly definition: ConnectorDefinition
      readonly warnings: ReadonlyArray<ImportWarning>
    }>
  }
  /** Analyses and compiles a workflow's source. */
  readonly analyseWorkflow: { readonly input: string; readonly output: Validated<WorkflowAnalysis, SourceIssue> }
  /** What the steps of a flow use, to be looked up before `compileFlow`. */
  readonly readFlow: { readonly input: Json; readonly output: FlowUses }
  /**
   * Checks the steps of a flow, and compiles them to a workflow's script. `at`: the present time, in milliseconds; `name`: the
   * workflow's; `isCompared`: warns of steps that the first generation ran in another order.
   */
  readonly compileFlow: {
    readonly input: {
      readonly at: number
      readonly name: string
      readonly spec: Json
      readonly connectors: KnownConnectors
      readonly isCompared?: boolean
    }
    readonly output: Validated<FlowAnalysis>
  }
  /** Reads a flow's file: a `.flow.js` is evaluated by an engine of its own, without any host call. Paths begin with `path`. */
  readonly readFlowFile: {
    readonly input: FlowImport & { readonly path: string }
    readonly output: Validated<FlowFile>
  }
  /**
   * Writes a flow as a file. Code, and the earlier order as `dependsOn`, are written of a flow without mistakes.
   * `generation`: whose order the steps have.
   */
  readonly writeFlowFile: {
    readonly input: FlowFile & {
      readonly name: string
      readonly format: ExportFormat
      readonly generation: number
      readonly order?: FileOrder
    }
    readonly output: Validated<string>
  }
  /** Checks a flow, and compiles one step of it to the script of its test. An unknown step: the mistake `UNKNOWN_STEP`. */
  readonly compileStep: {
    readonly input: Omit<ComputationTable["compileFlow"]["input"], "at" | "isCompared"> & {
      readonly step: string
      readonly isRehearsed: boolean
    }
    readonly output: Validated<StepAnalysis>
  }
  /** Which steps of a flow run anew when a run of it is resumed. */
  readonly resumeFlow: { readonly input: FlowResume; readonly output: Validated<ResumedFlow> }
  /** How two versions of a flow differ: the lines of their documents, and their steps. */
  readonly compareFlows: {
    readonly input: Pick<FlowResume, "from" | "to">
    readonly output: { readonly code: ReadonlyArray<DiffLine>; readonly steps: StepChanges }
  }
  /** Traces a record through a field map, step by step. */
  readonly traceMap: { readonly input: MapTraceInput; readonly output: MapTraceResult }
  /** The members of field maps that are not read again as they were written. */
  readonly mapLosses: {
    readonly input: ReadonlyArray<LossyMap>
    readonly output: ReadonlyArray<ReadonlyArray<MapLoss>>
  }
  /** A diagram laid out and drawn, as SVG. */
  readonly drawDiagram: { readonly input: Diagram; readonly output: string }
  /** Compares two texts line by line. */
  readonly diffLines: {
    readonly input: { readonly from: string; readonly to: string }
    readonly output: ReadonlyArray<DiffLine>
  }
}

/** A computation that a worker knows; metrics and failures name it. */
export type ComputationName = keyof ComputationTable

/** The computation exceeded its deadline or memory cap. The same input will do so again. */
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
     * Fails with `TooCostly` at the deadline or the memory cap, and with `Unavailable` when the organisation's queue is
     * full. Interrupting the caller removes a waiting computation from the queue.
     */
    readonly compute: <Name extends ComputationName>(
      name: Name,
      organisation: OrganisationId,
      input: ComputationTable[Name]["input"]
    ) => Effect.Effect<ComputationTable[Name]["output"], TooCostly | Unavailable>
  }
>() {}

/** The validation detail for a client whose input was too costly. */
export const tooCostlyDetail = (path: string, { allowedMillis, exceeded }: TooCostly): Detail => ({
  path,
  code: "TOO_COSTLY",
  message:
    exceeded === "time"
      ? `takes more than ${allowedMillis} ms to process: make it smaller, and its patterns and references simpler`
      : "takes too much memory to process: make it smaller"
})
