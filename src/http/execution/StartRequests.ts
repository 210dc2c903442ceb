/** What the start of a run takes from the request, whichever workflow it starts. */
import { Effect } from "effect"
import type { StartRequest } from "../../actors/ports/run/Executions.js"
import type { Runnable } from "../../actors/ports/run/Runnables.js"
import type { Principal } from "../../actors/management/Caller.js"
import { makeStartAudit, startBy } from "../../actors/management/run/CallerStart.js"
import { workflowHeaders } from "../../domain/Tenancy.js"
import type { CustomerContext } from "../../actors/management/access/CustomerContext.js"
import type { RequestHead } from "../Wire.js"

/** A request that starts a run, with what was found for it. */
export interface RunCall {
  readonly caller: Principal
  readonly request: RequestHead
  readonly context: CustomerContext
  readonly environment: string
}

/** The members that the request and the workflow decide. */
export type RequestedStart = Omit<StartRequest, "input" | "metadata" | "callback">

/** Makes `requestedStart`. */
export const makeStartRequests = Effect.gen(function* () {
  const { startAudit } = yield* makeStartAudit
  const clock = yield* Effect.clock

  const requestedStart = ({ caller, context, environment, request }: RunCall, runnable: Runnable): RequestedStart => {
    const { name, workflowId } = runnable
    return {
      ...startBy(caller),
      runnable,
      environment,
      // A page sends what it likes: of it the workflow gets the input that its form allows.
      headers: caller.embedded === null ? workflowHeaders(request.headers) : {},
      customer: context.customer === null ? null : { id: context.customer.id, ref: context.customer.externalRef },
      installation: context.installation,
      connections: context.connections,
      userId: context.userId,
      traceparent: request.headers["traceparent"] ?? null,
      audit: startAudit(caller, {
        at: new Date(clock.unsafeCurrentTimeMillis()).toISOString(),
        action: "workflow.execute",
        resource: { id: workflowId, name, type: "workflow" },
        customerId: context.customer?.id ?? null
      })
    }
  }

  return { requestedStart }
})
