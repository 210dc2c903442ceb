/**
 * Calls a connected system: gets a credential and a permit from the connection's actor, sends the request, reports the
 * provider's quota, and retries as the connector's rule allows.
 */
import { type Effect, type Either, type Redacted, Context } from "effect"
import type { UnsignedRequest } from "../../../domain/connector/request/UnsignedRequest.js"
import type { ConnectorDefinition } from "../../../domain/connector/Definition.js"
import type { ProviderAnswer, ProviderFailure, ProviderHead } from "../../../domain/connector/request/ProviderAnswer.js"
import type { NotFound, Unavailable } from "../../../domain/Failure.js"
import type { ConnectionId, ExecutionId, OrganisationId } from "../../../domain/Ids.js"
import type { Retry } from "../../../domain/run/Execution.js"
import type { AnswerHolding } from "../HeldBytes.js"
import type { ConnectionNotActive } from "./Connections.js"
import type { OpenRequest, OpenResponse } from "../Egress.js"

/** Retries that a call asks for instead of its connector's rule; `none`: one attempt; null: the rule. */
export type CallRetry = Partial<Retry> | "none" | null

/** A call of a provider through a connection. `request` has no credential. */
export interface ConnectedCall {
  readonly organisationId: OrganisationId
  readonly connectionId: ConnectionId
  readonly executionId: ExecutionId | null
  readonly definition: ConnectorDefinition
  readonly request: UnsignedRequest
  /** Largest answer, in bytes. */
  readonly maxBytes: number
  /** Attempts of earlier activations; the retry rule counts them. */
  readonly earlierAttempts: number
  /** The caller may read the credential, which is therefore sent to other origins than the connector's, too. */
  readonly anyOrigin?: boolean | undefined
  /** `refusals`: retries only calls that the provider did not execute (429, 503); `all`: also calls that it may have. */
  readonly retries: "all" | "refusals" | "none"
}

/** One request of a call, which the trace shows. `failure`: `null` if the call succeeded. */
export interface Attempt {
  /** Unix milliseconds. */
  readonly startedAt: number
  readonly finishedAt: number
  readonly failure: ProviderFailure | null
  /** Secrets that the answer may contain: what is recorded of it hides them. */
  readonly shortSecrets: ReadonlyArray<Redacted.Redacted>
}

/** The provider's limit is reached, or no token can be had: call again at `at` (Unix milliseconds). `made`: attempts so far. */
export interface Postponed {
  readonly _tag: "Postponed"
  readonly at: number
  readonly why: "rate_limit" | "connection"
  readonly made: number
}

/** The provider answered with a failure, and the retry rule ended. */
export interface ProviderRefused {
  readonly _tag: "ProviderRefused"
  readonly failure: ProviderFailure
}

/** Why a call has no result. `ConnectionNotActive`: a person must repair the connection. */
export type CallFailed = Postponed | ProviderRefused | ConnectionNotActive | NotFound | Unavailable

export class ConnectedCalls extends Context.Tag("svc/ConnectedCalls")<
  ConnectedCalls,
  {
    /**
     * Sends the request until it succeeds, the retry rule ends, or the call is postponed. `read` interprets an answer. A
     * request whose credential was refused is sent again with a newer one, if there is one, regardless of the rule,
     * because the provider did not execute it. `onAttempt` is called when an attempt has ended. A failure of a call that
     * no run makes has no secret.
     */
    readonly send: <A>(
      call: ConnectedCall,
      read: (answer: ProviderAnswer, now: number) => Effect.Effect<Either.Either<A, ProviderFailure>>,
      onAttempt?: (attempt: Attempt) => void
    ) => Effect.Effect<A, CallFailed, AnswerHolding>
    /**
     * The same for a streamed answer: returns the first answer whose head `failureOf` accepts with `null`, or the last one
     * that the retry rule allows, a failure too. After that nothing is retried.
     */
    readonly open: (
      call: ConnectedCall & Pick<OpenRequest, "stall" | "upload">,
      failureOf: (answer: ProviderHead, now: number) => ProviderFailure | null
    ) => Effect.Effect<OpenResponse, CallFailed>
  }
>() {}
