/** Calls a connector's action through a connection on behalf of the service itself: no run, no binding, the newest version. */
import { didYouMean } from "../../domain/ClosestName.js"
import { Data, Effect } from "effect"
import type { ActionDefinition } from "../../domain/connector/Action.js"
import type { ActionAnswer } from "../../domain/connector/request/ActionAnswer.js"
import { type ConnectorDefinition, findAction } from "../../domain/connector/Definition.js"
import type { OrganisationId } from "../../domain/Ids.js"
import type { Json } from "../../domain/Json.js"
import { makeActionCalls } from "../ActionCalls.js"
import type { CallFailed } from "../ports/connection/ConnectedCalls.js"
import type { CallableConnection } from "../ports/connection/ConnectionReads.js"
import { Faults, withFaultPoints } from "../ports/Faults.js"
import type { AnswerHolding } from "../ports/HeldBytes.js"

/** The definition and the arguments make no request. */
export class UnusableAction extends Data.TaggedError("UnusableAction")<{ readonly message: string }> {}

export interface ServiceCall {
  readonly organisationId: OrganisationId
  readonly connection: Pick<CallableConnection, "id" | "config">
  readonly definition: ConnectorDefinition
  readonly action: string
  readonly args: Json
  /** The same for every attempt. */
  readonly idempotencyKey: string
}

export interface ServiceCallResult extends ActionAnswer {
  readonly action: ActionDefinition
}

/** Calls an action; the caller holds the answer. */
type MakeServiceCall = (
  call: ServiceCall
) => Effect.Effect<ServiceCallResult, CallFailed | UnusableAction, AnswerHolding>

/** Makes the function that calls an action. */
export const makeServiceCalls = Effect.map(
  Effect.all([makeActionCalls, Faults]),
  ([callAction, faults]): MakeServiceCall =>
    (call: ServiceCall) => {
      const action = findAction(call.definition, call.action)
      if (action === undefined)
        return new UnusableAction({
          message: `there is no action ${call.action}.${didYouMean(
            call.action,
            call.definition.actions.map((one) => one.name)
          )}`
        })
      const sent = callAction({ ...call, action, executionId: null, retries: "refusals" }).pipe(
        Effect.map((answer) => ({ action, ...answer })),
        Effect.catchTag(
          "InvalidArguments",
          ({ message, path }) => new UnusableAction({ message: `${path} ${message}` })
        )
      )
      return withFaultPoints(faults, "beforeCall", sent, "called")
    }
)
