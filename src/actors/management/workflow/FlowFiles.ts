/** Imports workflows from files, and exports them. A file holds the flow's document, and no id, URL or secret of a workflow. */
import { Effect } from "effect"
import { type ExportFormat, fileKind, type FileOrder, type FlowFile } from "../../../domain/flow/FlowFile.js"
import { generationOf, orderGeneration, presentGeneration } from "../../../domain/flow/Generation.js"
import {
  type Detail,
  type Failure,
  invalid,
  NotFound,
  type Unavailable,
  ValidationFailed
} from "../../../domain/Failure.js"
import { isObject } from "../../../domain/Json.js"
import type {
  CreateWorkflow,
  CreateWorkflowBody,
  Workflow,
  WorkflowVersion
} from "../../../domain/workflow/Workflow.js"
import { Computations, tooCostlyDetail } from "../../ports/Computations.js"
import type { CallContext } from "../CallContext.js"
import type { Principal } from "../Caller.js"
import { Changes } from "../Changes.js"
import { stepsRefusal } from "./FlowCompiler.js"
import { findVersion, findWorkflow } from "./WorkflowRecords.js"

/** The place of a file in a request. */
const path = "import.source"

const refusal = (details: ReadonlyArray<Detail>): ValidationFailed => {
  const [first] = details
  return new ValidationFailed({
    code: "VALIDATION_FAILED",
    message: first === undefined ? `${path}: is no flow` : `${first.path}: ${first.message}`,
    details
  })
}

const required = (member: string, message = "is required"): Detail => ({ path: member, code: "REQUIRED", message })

/** A file to download. */
export interface ExportedFile {
  readonly fileName: string
  readonly type: string
  readonly text: string
}

/** What an export is made from: the draft of a workflow, or a version. */
type Exported = Pick<Workflow | WorkflowVersion, "form" | "source" | "spec" | "script">

/** `version`: absent, the draft. */
export interface ExportRequest {
  readonly format?: ExportFormat | undefined
  readonly order?: FileOrder | undefined
  readonly version?: number | undefined
}

/** What a request makes a workflow of. `isCompared`: its steps may be of an earlier generation. */
interface NewContent {
  readonly input: CreateWorkflow
  readonly isCompared: boolean
}

export const makeFlowFiles = Effect.gen(function* () {
  const { compute } = yield* Computations
  const { read } = yield* Changes

  const readFile = Effect.fnUntraced(function* (
    { organisationId }: Principal,
    file: NonNullable<CreateWorkflowBody["import"]>
  ): Effect.fn.Return<FlowFile, ValidationFailed | Unavailable> {
    const found = yield* Effect.catchTag(
      compute("readFlowFile", organisationId, { ...file, path }),
      "TooCostly",
      (error) => Effect.succeed({ ok: false, mistakes: [tooCostlyDetail(path, error)] } as const)
    )
    return found.ok ? found.value : yield* refusal(found.mistakes)
  })

  /** The new workflow that a request describes itself, or by a file. */
  const readBody = Effect.fnUntraced(function* (
    caller: Principal,
    { form, import: file, name, ...rest }: CreateWorkflowBody
  ): Effect.fn.Return<NewContent, ValidationFailed | Unavailable> {
    if (file === undefined) {
      if (name !== undefined && form !== undefined) return { input: { name, form, ...rest }, isCompared: false }
      return yield* refusal([
        ...(name === undefined ? [required("name")] : []),
        ...(form === undefined ? [required("form")] : [])
      ])
    }
    if (rest.code !== undefined || rest.spec !== undefined)
      return yield* invalid("import", "NOT_ALLOWED", "stands for code and spec: send one of the three")
    if (form === "code") return yield* invalid("form", "NOT_ALLOWED", "is steps for an import")
    const { generation = 1, spec, ...own } = yield* readFile(caller, file)
    const called = name ?? own.name
    if (called === undefined) return yield* refusal([required("name", "is required, since the file has no name")])
    return { input: { ...own, ...rest, name: called, form: "steps", spec }, isCompared: generation < orderGeneration }
  })

  const writeFlow = Effect.fnUntraced(function* (
    { organisationId }: Principal,
    { description, name }: Workflow,
    { script, spec }: Exported,
    format: ExportFormat,
    order: FileOrder | undefined
  ): Effect.fn.Return<string, Failure> {
    if (!isObject(spec)) return yield* new NotFound({ what: "spec" })
    const written = yield* Effect.catchTag(
      compute("writeFlowFile", organisationId, {
        format,
        name,
        description,
        generation: generationOf(script) ?? presentGeneration,
        spec,
        ...(order === undefined ? {} : { order })
      }),
      "TooCostly",
      (error) => stepsRefusal([tooCostlyDetail("steps", error)])
    )
    return written.ok ? written.value : yield* stepsRefusal(written.mistakes)
  })

  /** The draft, or a version, as a file. Of code there is the code only. */
  const exportFile = Effect.fnUntraced(function* (
    context: CallContext,
    id: string,
    { format: asked, order, version }: ExportRequest
  ): Effect.fn.Return<ExportedFile, Failure> {
    const { exported, workflow } = yield* read(context, function* (tx) {
      const found = yield* findWorkflow(tx, context.caller, id)
      const content: Exported = version === undefined ? found : yield* findVersion(tx, found, version)
      return { workflow: found, exported: content }
    })
    const format = asked ?? (exported.form === "code" ? "code" : "flow.json")
    if (exported.form === "code" && format !== "code")
      return yield* invalid("format", "NOT_ALLOWED", "is code for this workflow, which has no steps")
    const text =
      exported.form === "code"
        ? (exported.source ?? "")
        : yield* writeFlow(context.caller, workflow, exported, format, order)
    return { ...fileKind(format, workflow.name), text }
  })

  return { readBody, exportFile }
})
