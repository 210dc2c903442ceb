/**
 * One call of a connected system: a credential and a permit from the connection's actor, the request, what the answer
 * tells of the provider's limits, and further attempts as the connector's rule allows.
 */
import type { Effect, Either } from "effect"
import { Context } from "effect"
import type { UnsignedRequest } from "../../domain/connector/UnsignedRequest.js"
import type { ConnectorDefinition } from "../../domain/connector/Definition.js"
import type { ProviderAnswer, ProviderFailure, ProviderHead } from "../../domain/connector/ProviderAnswer.js"
import type { NotFound, Unavailable } from "../../domain/Failure.js"
import type { ConnectionId, ExecutionId, OrganisationId } from "../../domain/Ids.js"
import type { ConnectionNotActive } from "./Connections.js"
import type { OpenRequest, OpenResponse } from "./Egress.js"

export interface ConnectedCall {
  readonly organisationId: OrganisationId
  readonly connectionId: ConnectionId
  readonly executionId: ExecutionId | null
  readonly definition: ConnectorDefinition
  readonly request: UnsignedRequest
  /** Largest answer, in bytes. */
  readonly maxBytes: number
  /** Attempts that were made before; the rule counts them. */
  readonly made: number
  /** `refusals`: only what the provider did not take (429, 503); `all`: what may have been done as well. */
  readonly retries: "all" | "refusals" | "none"
}

export interface Attempt {
  /** Unix milliseconds. */
  readonly startedAt: number
  readonly finishedAt: number
  readonly failure: ProviderFailure | null
}

/** The provider takes nothing now, or there is no token: ask again at `at` (Unix milliseconds). */
export interface Postponed {
  readonly _tag: "Postponed"
  readonly at: number
  readonly why: "rate_limit" | "connection"
  readonly made: number
}

export interface ProviderRefused {
  readonly _tag: "ProviderRefused"
  readonly failure: ProviderFailure
}

export type CallFailed = Postponed | ProviderRefused | ConnectionNotActive | NotFound | Unavailable

export class ConnectedCalls extends Context.Tag("svc/ConnectedCalls")<
  ConnectedCalls,
  {
    /**
     * Sends the request until it succeeds, the rule has had enough, or the call has to wait. `read`: what an answer
     * means. A request whose credential the provider refused is sent again with a newer one where that can be had,
     * whatever the rule says: the provider did not take it. `told` hears of every attempt as it ends.
     */
    readonly send: <A>(
      call: ConnectedCall,
      read: (answer: ProviderAnswer, now: number) => Either.Either<A, ProviderFailure>,
      told?: (attempt: Attempt) => void
    ) => Effect.Effect<A, CallFailed>
    /**
     * The same, as soon as the head of an answer is there that `again` has no failure for. The last answer that the rule
     * allows is handed over, whatever it is. Nothing is tried again once an answer was handed over.
     */
    readonly open: (
      call: ConnectedCall & Pick<OpenRequest, "stall" | "upload">,
      again: (answer: ProviderHead, now: number) => ProviderFailure | null
    ) => Effect.Effect<OpenResponse, CallFailed>
  }
>() {}
