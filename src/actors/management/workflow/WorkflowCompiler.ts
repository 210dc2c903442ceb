/** Compiles a workflow's source and checks its contracts in a computing worker; failures name the place of each mistake. */
import { Effect } from "effect"
import { type CompiledContent, incompleteContent, nameProblem } from "../../../domain/workflow/WorkflowChanges.js"
import type { WorkflowAnalysis } from "../../../domain/workflow/WorkflowAnalysis.js"
import {
  type Forbidden,
  invalid,
  refuseUrl,
  refuseWith,
  type Unavailable,
  ValidationFailed
} from "../../../domain/Failure.js"
import { findUnstorable, isObject, type Json, type JsonObject } from "../../../domain/Json.js"
import type { UpdateWorkflow } from "../../../domain/workflow/Workflow.js"
import { type ComputationName, Computations, type ComputationTable, tooCostlyDetail } from "../../ports/Computations.js"
import { Egress } from "../../ports/Egress.js"
import type { Principal } from "../Caller.js"
import { type FlowOptions, makeFlowCompiler } from "./FlowCompiler.js"
import { codeRefusal } from "./WorkflowAuthor.js"

/** What is stored of an analysis. `at`: the member of the request. */
const contentOf = (
  at: string,
  {
    bindings,
    diagram,
    script,
    warnings
  }: Omit<WorkflowAnalysis, "warnings"> & { readonly warnings: ReadonlyArray<object> },
  waits: boolean
): Effect.Effect<CompiledContent, ValidationFailed> =>
  findUnstorable({ bindings, diagram, warnings }) === undefined
    ? Effect.succeed({
        script,
        waits,
        problems: [],
        // Plain data of the analysis.
        bindings: bindings as unknown as Json,
        diagram: diagram as unknown as Json,
        warnings: warnings as unknown as Json
      })
    : invalid(at, "NOT_STORABLE", "names something with the character U+0000 or half a surrogate pair")

/** The content of a request. */
interface SentContent {
  readonly code?: string | undefined
  readonly spec?: JsonObject | undefined
}

/** `name`: of the workflow. `isIncomplete`: content with mistakes is kept with them, unless it is too large. */
interface CompileOptions extends FlowOptions {
  readonly name: string
  readonly isIncomplete: boolean
}

const nameRefusal = (name: string | undefined) => (name === undefined ? undefined : nameProblem(name))

/** Compiles and checks what a request sends. */
export const makeWorkflowCompiler = Effect.gen(function* () {
  const { compute } = yield* Computations
  const egress = yield* Egress
  const { compileFlow } = yield* makeFlowCompiler

  const compileSteps = Effect.fnUntraced(function* (
    caller: Principal,
    spec: JsonObject,
    { name, ...options }: Omit<CompileOptions, "isIncomplete">
  ) {
    // One that is no object is refused with the steps.
    yield* checkSchemas(caller, { "spec.requestSchema": spec["requestSchema"] })
    const flow = yield* compileFlow(caller, spec, name, options)
    return yield* contentOf("spec", flow, flow.isLong)
  })

  /** The script for the sandbox, and the analysis of the source. */
  const compileCode = Effect.fnUntraced(function* ({ organisationId }: Principal, code: string) {
    const analysed = yield* compute("analyseWorkflow", organisationId, code).pipe(
      Effect.catchTag("TooCostly", (error) => {
        const { code: issue, message } = tooCostlyDetail("code", error)
        return Effect.succeed({ ok: false, mistakes: [{ code: issue, message, line: 1, column: 1 }] } as const)
      })
    )
    if (!analysed.ok)
      return yield* new ValidationFailed({
        code: "VALIDATION_FAILED",
        message: `code: ${analysed.mistakes[0]?.message ?? "is not a workflow"}`,
        details: analysed.mistakes.map((issue) => ({ path: "code", ...issue }))
      })
    return yield* contentOf("code", analysed.value, false)
  })

  /** Fails unless each object among these is a usable schema. */
  const checkSchemas = Effect.fnUntraced(function* (
    { organisationId }: Principal,
    given: { readonly [name: string]: Json | undefined }
  ): Effect.fn.Return<void, ValidationFailed | Unavailable> {
    const schemas = Object.fromEntries(
      Object.entries(given).flatMap(([name, schema = null]) => (isObject(schema) ? [[name, schema] as const] : []))
    )
    if (Object.keys(schemas).length === 0) return
    const details = yield* compute("checkSchemas", organisationId, schemas).pipe(
      Effect.catchTag("TooCostly", (error) => Effect.succeed([tooCostlyDetail(Object.keys(schemas).join(", "), error)]))
    )
    const [first] = details
    if (first !== undefined)
      return yield* new ValidationFailed({
        code: "VALIDATION_FAILED",
        message: `${first.path}: ${first.message}`,
        details
      })
  })

  const checkCallback = (url: string | null | undefined): Effect.Effect<void, ValidationFailed> =>
    url === null || url === undefined
      ? Effect.void
      : Effect.mapError(egress.checkTarget(url), ({ reason }) => refuseUrl("callbackUrl", reason))

  /** The checks that need no stored record. */
  const checkInput = Effect.fnUntraced(function* (caller: Principal, input: UpdateWorkflow) {
    yield* refuseWith((input.code === undefined ? undefined : codeRefusal(caller)) ?? nameRefusal(input.name))
    const { inputContract, outputContract } = input
    yield* checkSchemas(caller, { inputContract, outputContract })
    yield* checkCallback(input.callbackUrl)
  })

  /** Runs a computation on stored input, whose cost was checked when it was saved. */
  const computeStored = <Name extends ComputationName>(
    name: Name,
    { organisationId }: Principal,
    input: ComputationTable[Name]["input"]
  ): Effect.Effect<ComputationTable[Name]["output"], ValidationFailed | Unavailable> =>
    Effect.catchTag(compute(name, organisationId, input), "TooCostly", (error) => {
      const { code, message } = tooCostlyDetail("", error)
      return invalid(name, code, message)
    })

  /** The content of a request in its form: `code` or `spec`. `undefined` if it has neither. */
  const compile = (
    caller: Principal,
    { code, spec }: SentContent,
    { isIncomplete, ...options }: CompileOptions
  ): Effect.Effect<CompiledContent | undefined, ValidationFailed | Forbidden | Unavailable> => {
    if (code !== undefined && spec !== undefined)
      return invalid("spec", "NOT_ALLOWED", "is for workflows in step form: send code or spec")
    const compiled =
      code !== undefined
        ? compileCode(caller, code)
        : spec === undefined
          ? undefined
          : compileSteps(caller, spec, options)
    if (compiled === undefined || !isIncomplete) return compiled ?? Effect.succeed(undefined)
    return Effect.catchTag(compiled, "ValidationFailed", (failure) =>
      failure.details.some(({ code }) => code === "SOURCE_TOO_LARGE")
        ? failure
        : Effect.succeed(incompleteContent(failure.details))
    )
  }

  return { checkInput, compile, computeStored }
})
