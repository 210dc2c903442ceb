/** Compiles a workflow's source and checks its contracts in a computing worker; failures name the place of each mistake. */
import { Effect } from "effect"
import { nameProblem } from "../../../domain/workflow/WorkflowChanges.js"
import { invalid, refuseUrl, type Unavailable, ValidationFailed, refuseWith } from "../../../domain/Failure.js"
import { type Json, type JsonObject, findUnstorable } from "../../../domain/Json.js"
import type { UpdateWorkflow } from "../../../domain/workflow/Workflow.js"
import { type ComputationName, Computations, type ComputationTable, tooCostlyDetail } from "../../ports/Computations.js"
import { Egress } from "../../ports/Egress.js"
import type { Principal } from "../Caller.js"
import { codeRefusal } from "./WorkflowAuthor.js"

const nameRefusal = (name: string | undefined) => (name === undefined ? undefined : nameProblem(name))

/** Compiles and checks what a request sends. */
export const makeWorkflowCompiler = Effect.gen(function* () {
  const { compute } = yield* Computations
  const egress = yield* Egress

  /** The script for the sandbox, and the analysis of the source. */
  const compile = Effect.fnUntraced(function* ({ organisationId }: Principal, code: string) {
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
    const { bindings, diagram, script, warnings } = analysed.value
    if (findUnstorable({ bindings, diagram, warnings }) !== undefined)
      return yield* invalid(
        "code",
        "NOT_STORABLE",
        "names something with the character U+0000 or half a surrogate pair"
      )
    return {
      // Plain data of the analysis.
      script,
      bindings: bindings as unknown as Json,
      diagram: diagram as unknown as Json,
      warnings: warnings as unknown as Json
    }
  })

  /** Fails unless each contract is a usable schema. */
  const checkContracts = Effect.fnUntraced(function* (
    { organisationId }: Principal,
    input: {
      readonly inputContract?: JsonObject | null | undefined
      readonly outputContract?: JsonObject | null | undefined
    }
  ): Effect.fn.Return<void, ValidationFailed | Unavailable> {
    const schemas = Object.fromEntries(
      (["inputContract", "outputContract"] as const).flatMap((name) => {
        const schema = input[name]
        return schema === null || schema === undefined ? [] : [[name, schema] as const]
      })
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
    yield* checkContracts(caller, input)
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

  return { checkInput, compile, computeStored }
})
