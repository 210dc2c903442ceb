/** Calls a connector's action through a connection: the request is built, sent, retried, and its answer read. */
import { Data, Effect, Either } from "effect"
import type { ActionDefinition } from "../domain/connector/Action.js"
import type { ConnectorDefinition } from "../domain/connector/Definition.js"
import { type ActionAnswer, actionAnswer } from "../domain/connector/request/ActionAnswer.js"
import type { ProviderFailure } from "../domain/connector/request/ProviderAnswer.js"
import { buildRequest } from "../domain/connector/request/UnsignedRequest.js"
import { inSlices } from "./SlicedWork.js"
import { Patterns } from "./Patterns.js"
import type { ExecutionId, OrganisationId } from "../domain/Ids.js"
import type { Json } from "../domain/Json.js"
import { guest } from "../domain/Limits.js"
import {
  type Attempt,
  type CallFailed,
  type CallRetry,
  ConnectedCalls,
  type ConnectedCall
} from "./ports/connection/ConnectedCalls.js"
import type { CallableConnection } from "./ports/connection/ConnectionReads.js"
import type { AnswerHolding } from "./ports/HeldBytes.js"

/** The arguments make no request. */
export class InvalidArguments extends Data.TaggedError("InvalidArguments")<{
  readonly path: string
  readonly message: string
}> {}

/** The call of an action. */
export interface ActionCall {
  readonly organisationId: OrganisationId
  readonly connection: Pick<CallableConnection, "id" | "config">
  readonly executionId: ExecutionId | null
  readonly definition: ConnectorDefinition
  readonly action: ActionDefinition
  readonly args: Json
  /** The same for every attempt; sent to providers that accept one. */
  readonly idempotencyKey: string
  readonly retries: ConnectedCall["retries"]
  /** Instead of the action's own. */
  readonly timeoutMillis?: number | undefined
  readonly earlierAttempts?: number
  /** As in `ConnectedCall`. A refusal by another origin then neither renews the credential nor counts against it. */
  readonly anyOrigin?: boolean
  readonly onAttempt?: (attempt: Attempt) => void
  readonly onStatus?: (status: number) => void
}

/** Calls an action; the caller holds the answer. */
export type CallAction = (call: ActionCall) => Effect.Effect<ActionAnswer, CallFailed | InvalidArguments, AnswerHolding>

/** Makes the function that calls an action. */
export const makeActionCalls = Effect.map(
  Effect.all([ConnectedCalls, Patterns]),
  ([calls, patterns]): CallAction =>
    (call) => {
      const { action, args, connection, definition, organisationId } = call
      const request = buildRequest(definition, action, {
        args,
        config: connection.config,
        idempotencyKey: call.idempotencyKey
      })
      if (Either.isLeft(request)) return new InvalidArguments({ ...request.left })
      const { right: unsigned } = request
      return Effect.flatMap(patterns.ofCondition(organisationId, action.response.errorWhen), (found) =>
        calls.send(
          {
            organisationId,
            connectionId: connection.id,
            executionId: call.executionId,
            definition,
            request: { ...unsigned, timeoutMillis: call.timeoutMillis ?? unsigned.timeoutMillis },
            maxBytes: guest.fetchBytes,
            earlierAttempts: call.earlierAttempts ?? 0,
            retries: call.retries,
            ...(call.anyOrigin === true ? { anyOrigin: true } : {})
          },
          (answer, now) => {
            call.onStatus?.(answer.status)
            const read = inSlices(actionAnswer(definition, action, { answer, url: unsigned.url, args }, now, found))
            return call.anyOrigin === true ? Effect.map(read, Either.mapLeft(asFinal)) : read
          },
          call.onAttempt
        )
      )
    }
)

const asFinal = (failure: ProviderFailure): ProviderFailure => ({ ...failure, isFinal: true })

const repeatableMethods = new Set(["GET", "HEAD", "OPTIONS", "PUT", "DELETE"])

/** A call that may have taken effect is retried only if repeating it is harmless or the provider recognises its key. */
export const retriesOf = ({ idempotency, readOnly, request }: ActionDefinition): "all" | "refusals" =>
  repeatableMethods.has(request.method) || readOnly === true || idempotency !== undefined ? "all" : "refusals"

/** Failures that a step's own retries are for: all transient ones, and those that the connector names. */
const transientCauses = [408, 425, 429, 500, 502, 503, 504, "network", "timeout"] as const

/** The definition with the retries that a call asks for instead of its own. */
export const withRetry = (definition: ConnectorDefinition, retry: CallRetry): ConnectorDefinition =>
  retry === null || retry === "none"
    ? definition
    : {
        ...definition,
        retry: {
          ...definition.retry,
          maxAttempts: 1,
          ...retry,
          on: [...new Set([...definition.retry.on, ...transientCauses])]
        }
      }
