/** Checks of a start besides the form of its body: the environment, the input by the workflow's contract, the callback's URL. */
import { Effect, Either } from "effect"
import type { Principal } from "../../actors/management/Caller.js"
import { Computations, tooCostlyDetail } from "../../actors/ports/Computations.js"
import { Egress } from "../../actors/ports/Egress.js"
import type { Runnable } from "../../actors/ports/run/Runnables.js"
import { type Failure, InvalidRequest, refuseUrl, ValidationFailed } from "../../domain/Failure.js"
import type { OrganisationId } from "../../domain/Ids.js"
import type { JsonObject } from "../../domain/Json.js"
import { isEnvironmentSlug, latestEnvironment } from "../../domain/organisation/Environment.js"
import type { RawRequest } from "../Wire.js"
import type { ExecuteBody } from "./ExecuteBody.js"

/**
 * The slug of the environment: of the body, the header `x-svc-env`, or the default, for drafts `test` and else the organisation's.
 * Left: it is none.
 */
export const environmentOf = (
  caller: Principal,
  request: RawRequest,
  body: { readonly environment?: string; readonly draft?: boolean }
): Either.Either<string, InvalidRequest> => {
  const header = request.headers["x-svc-env"]
  const byDefault = body.draft === true ? latestEnvironment : caller.organisation.defaultEnvironment
  const slug = body.environment ?? (header === undefined || header === "" ? byDefault : header)
  return isEnvironmentSlug(slug)
    ? Either.right(slug.toLowerCase())
    : Either.left(
        new InvalidRequest({
          code: "INVALID_HEADER",
          message: "x-svc-env is not the slug of an environment: send letters, digits, - and _"
        })
      )
}

/** Makes the checks that need the computing workers and egress. */
export const makeStartChecks = Effect.gen(function* () {
  const { compute } = yield* Computations
  const egress = yield* Egress

  /** Fails if the input breaks the schema. `what`: the schema in words. */
  const checkSchema = Effect.fnUntraced(function* (
    organisationId: OrganisationId,
    schema: JsonObject,
    input: JsonObject,
    what: string
  ) {
    const details = yield* compute("checkValue", organisationId, { schema, value: input }).pipe(
      Effect.catchTag("TooCostly", (error) => Effect.succeed([tooCostlyDetail("", error)]))
    )
    const [first] = details
    if (first !== undefined)
      return yield* new ValidationFailed({
        code: "INPUT_CONTRACT_VIOLATION",
        message: `input breaks ${what}: ${first.message}`,
        details: details.map((detail) => ({ ...detail, path: detail.path === "" ? "input" : `input.${detail.path}` }))
      })
  })

  /** Fails if the input breaks the workflow's input contract. */
  const checkInput = ({ inputContract, organisationId }: Runnable, input: JsonObject) =>
    inputContract === null
      ? Effect.void
      : checkSchema(organisationId, inputContract, input, "the workflow's input contract")

  /** Fails unless the form of the action that an embed session starts allows the input. */
  const checkForm = ({ organisationId }: Principal, form: JsonObject, input: JsonObject) =>
    checkSchema(organisationId, form, input, "the form of the action")

  /** The callback of the body or the header `x-svc-callback-url`; fails if its URL cannot be called. */
  const checkCallback = (request: RawRequest, body: ExecuteBody): Effect.Effect<ExecuteBody["callback"], Failure> => {
    const header = request.headers["x-svc-callback-url"]
    const callback = body.callback ?? (header === undefined || header === "" ? null : { url: header, events: null })
    if (callback === null) return Effect.succeed(null)
    return Effect.mapBoth(egress.checkTarget(callback.url), {
      onSuccess: () => callback,
      onFailure: ({ reason }) => refuseUrl("callback.url", reason)
    })
  }

  return { checkCallback, checkForm, checkInput }
})
