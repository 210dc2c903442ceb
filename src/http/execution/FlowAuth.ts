/**
 * Checks the token of a flow's own authentication before surface B starts the flow: against a secret, in constant time, or by
 * a workflow. What cannot be checked is refused, and so is who has sent too many wrong ones. Contract: surface B.
 */
import { Effect, Option, Redacted } from "effect"
import { StartQuota } from "../../actors/management/organisation/StartQuota.js"
import { Digests } from "../../actors/ports/Digests.js"
import { Executions } from "../../actors/ports/run/Executions.js"
import { type Runnable, Runnables } from "../../actors/ports/run/Runnables.js"
import { RunReads } from "../../actors/ports/run/RunReads.js"
import { type Failure, Unauthorized, Unavailable } from "../../domain/Failure.js"
import { accepts, customAuthMillis, presentedToken } from "../../domain/flow/CustomAuth.js"
import type { CustomAuth } from "../../domain/flow/Spec.js"
import type { WorkflowId } from "../../domain/Ids.js"
import { disabledRefusal } from "../../domain/workflow/Workflow.js"
import { workflowHeaders } from "../../domain/Tenancy.js"
import { RefusalCounters, subscriberOf } from "../auth/RefusalCounters.js"
import { makeStartRequests, type RunCall } from "./StartRequests.js"

const refused = (message: string) => new Unauthorized({ code: "UNAUTHORIZED", message, isCustomAuth: true })
const unchecked = (why: string) => refused(`the flow's own authentication cannot be checked: ${why}`)

/** Makes `authenticate`, which fails unless the flow accepts the request's token. */
export const makeFlowAuth = Effect.gen(function* () {
  const refusals = yield* RefusalCounters
  const secrets = yield* RunReads
  const digests = yield* Digests
  const runnables = yield* Runnables
  const executions = yield* Executions
  const quota = yield* StartQuota
  const { requestedStart } = yield* makeStartRequests

  const checkSecret = Effect.fnUntraced(function* (
    { caller, context, environment }: RunCall,
    { workflowId }: Runnable,
    name: string,
    token: string
  ): Effect.fn.Return<boolean, Failure> {
    const reader = {
      organisationId: caller.organisationId,
      spaceId: caller.spaceId,
      workflowId,
      customerId: context.customer?.id ?? null,
      installationId: context.installation?.id ?? null,
      environment
    }
    const found = yield* Effect.mapError(
      secrets.secret(reader, name),
      ({ refusal = "the flow's authentication cannot be checked now" }) =>
        new Unavailable({ reason: refusal, retryAfterSeconds: 1 })
    )
    if (Option.isNone(found)) return yield* unchecked(`there is no secret ${name}`)
    const { sha256Hex } = digests
    // Digests, so that not even the length is told.
    return digests.equal(sha256Hex(Redacted.value(found.value.value)), sha256Hex(token))
  })

  /** The workflow in the flow's environment, if it can be asked. */
  const checkerOf = (
    { caller, context, environment }: RunCall,
    id: string
  ): Effect.Effect<Runnable, Unauthorized | Unavailable> => {
    const customer = context.customer?.id ?? null
    // The text is only compared with stored ids.
    return runnables.inEnvironment(caller.organisationId, id as WorkflowId, environment, customer).pipe(
      Effect.catchTags({
        NotFound: () => unchecked(`there is no workflow ${id}`),
        WorkflowUnavailable: ({ message }) => unchecked(message)
      }),
      Effect.flatMap((found) => {
        if (found.spaceId !== caller.spaceId || (found.customerId !== null && found.customerId !== customer))
          return unchecked(`there is no workflow ${id}`)
        const disabled = disabledRefusal(found)
        if (disabled !== undefined) return unchecked(disabled.message)
        return found.tier === "instant" ? Effect.succeed(found) : unchecked(`the workflow ${id} is not Instant`)
      })
    )
  }

  /** The run gets the token and the headers; no record shows the token. */
  const askWorkflow = Effect.fnUntraced(function* (
    call: RunCall,
    id: string,
    token: string
  ): Effect.fn.Return<boolean, Failure> {
    const { caller, context, request } = call
    const start = executions.start({
      ...requestedStart(call, yield* checkerOf(call, id)),
      input: { token, headers: workflowHeaders(request.headers) },
      hidden: [token],
      synchronousMillis: customAuthMillis,
      metadata: {},
      callback: null
    })
    const started = yield* quota.countStart(caller, context.customer, start)
    if (started._tag === "Moved")
      return yield* new Unavailable({ reason: "the flow's authentication moved to another node", retryAfterSeconds: 1 })
    if (started._tag !== "Ended" || started.end.status !== "completed")
      return yield* unchecked(`the workflow ${id} did not complete within ${customAuthMillis / 1_000} s`)
    return accepts(started.end.output)
  })

  const isAccepted = (
    call: RunCall,
    runnable: Runnable,
    { secretName, type, workflowId }: CustomAuth,
    token: string
  ): Effect.Effect<boolean, Failure> => {
    if (type === "workflow")
      return workflowId === undefined ? unchecked("it names no workflow") : askWorkflow(call, workflowId, token)
    return secretName === undefined ? unchecked("it names no secret") : checkSecret(call, runnable, secretName, token)
  }

  const check = (call: RunCall, runnable: Runnable, auth: CustomAuth): Effect.Effect<void, Failure> => {
    const { headers } = call.request
    if (headers["x-svc-custom-auth"]?.toLowerCase() !== "true")
      return refused("the flow has an authentication of its own: send x-svc-custom-auth: true and authorization")
    const token = presentedToken(auth, headers["authorization"])
    if (token === undefined)
      return refused(
        auth.type === "bearer"
          ? "send the flow's token in authorization: Bearer TOKEN"
          : "send the flow's token in authorization"
      )
    return Effect.flatMap(
      refusals.limitGuesses(
        `${runnable.workflowId}|${subscriberOf(call.caller.ip)}`,
        isAccepted(call, runnable, auth, token)
      ),
      (found) => (found ? Effect.void : refused("the flow does not accept this token"))
    )
  }

  const authenticate = (call: RunCall, runnable: Runnable): Effect.Effect<void, Failure> =>
    runnable.customAuth === null ? Effect.void : check(call, runnable, runnable.customAuth)

  return { authenticate }
})
