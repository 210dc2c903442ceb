/** Calls a connector's action through a connection on behalf of the service itself: no run, no binding, the newest version. */
import { didYouMean } from "../../domain/ClosestName.js"
import { Data, Effect, Either } from "effect"
import { actionResult } from "../../domain/connector/request/ActionResult.js"
import type { ActionDefinition } from "../../domain/connector/Action.js"
import { type ConnectorDefinition, findAction } from "../../domain/connector/Definition.js"
import { nextPageArgs } from "../../domain/connector/request/Pagination.js"
import { buildRequest } from "../../domain/connector/request/UnsignedRequest.js"
import type { OrganisationId } from "../../domain/Ids.js"
import type { Json } from "../../domain/Json.js"
import { guest } from "../../domain/Limits.js"
import { type CallFailed, ConnectedCalls } from "../ports/connection/ConnectedCalls.js"
import type { CallableConnection } from "../ports/connection/ConnectionReads.js"
import { Faults, withFaultPoints } from "../ports/Faults.js"
import type { AnswerHolding } from "../ports/HeldBytes.js"
import { Patterns } from "../Patterns.js"

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

export interface ServiceCallResult {
  readonly action: ActionDefinition
  readonly result: Json
  /** The arguments of the next page; `null`: there is none. */
  readonly next: Json | null
}

/** Calls an action; the caller holds the answer. */
type MakeServiceCall = (
  call: ServiceCall
) => Effect.Effect<ServiceCallResult, CallFailed | UnusableAction, AnswerHolding>

/** Makes the function that calls an action. */
export const makeServiceCalls = Effect.map(
  Effect.all([ConnectedCalls, Faults, Patterns]),
  ([calls, faults, patterns]): MakeServiceCall =>
    ({ action: name, args, connection, definition, idempotencyKey, organisationId }: ServiceCall) => {
      const action = findAction(definition, name)
      if (action === undefined)
        return new UnusableAction({
          message: `there is no action ${name}.${didYouMean(
            name,
            definition.actions.map((one) => one.name)
          )}`
        })
      const request = buildRequest(definition, action, { args, config: connection.config, idempotencyKey })
      if (Either.isLeft(request)) return new UnusableAction({ message: `${request.left.path} ${request.left.message}` })
      const { right: unsigned } = request
      const sent = Effect.flatMap(patterns.ofCondition(organisationId, action.response.errorWhen), (found) =>
        calls.send(
          {
            organisationId,
            connectionId: connection.id,
            executionId: null,
            definition,
            request: unsigned,
            maxBytes: guest.fetchBytes,
            earlierAttempts: 0,
            retries: "refusals"
          },
          (answer, now) =>
            Either.map(actionResult(definition, action, answer, now, found), (result) => ({
              action,
              result,
              next: nextPageArgs(action, args, answer)
            }))
        )
      )
      return withFaultPoints(faults, "beforeCall", sent, "called")
    }
)
