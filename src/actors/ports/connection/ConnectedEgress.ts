/** Sends requests with a connection's credential. Grants are opened here only. */
import { type Effect, type Redacted, Context, Data } from "effect"
import type { UnsignedRequest } from "../../../domain/connector/request/UnsignedRequest.js"
import type { ConnectionId, ExecutionId, OrganisationId } from "../../../domain/Ids.js"
import type { AnswerHolding } from "../HeldBytes.js"
import type { EgressFailure, EgressResponse, OpenRequest, OpenResponse } from "../Egress.js"

/** The grant is not for this request or has expired; nothing was sent. */
export class GrantRefused extends Data.TaggedError("GrantRefused")<{ readonly reason: string }> {}

/** A request with its sealed credential. `grant` serves this request once. */
export interface ConnectedRequest extends UnsignedRequest {
  readonly grant: Uint8Array
  readonly organisationId: OrganisationId
  readonly connectionId: ConnectionId
  readonly executionId: ExecutionId | null
  /** Largest response body, in bytes after decompression. */
  readonly maxBytes: number
}

/** The answer, without the credential if that is long enough not to occur in it by chance. */
export interface ConnectedResponse extends EgressResponse {
  /** Secrets of the credential that the answer may contain, since they are too short to be removed: records hide them. */
  readonly shortSecrets: ReadonlyArray<Redacted.Redacted>
}

export class ConnectedEgress extends Context.Tag("svc/ConnectedEgress")<
  ConnectedEgress,
  {
    /**
     * Adds the credential and sends the request. A redirect to another origin gets no credential and no header that could
     * be one. A credential of at least twelve characters is redacted from the answer if the provider echoes it.
     */
    readonly send: (
      request: ConnectedRequest
    ) => Effect.Effect<ConnectedResponse, EgressFailure | GrantRefused, AnswerHolding>
    /**
     * The same, but returns with the answer's head; its timeout is for the head, `stall` for the body. Refuses an `upload`
     * when the credential must sign or change the body.
     */
    readonly open: (
      request: ConnectedRequest & Pick<OpenRequest, "stall" | "upload">
    ) => Effect.Effect<OpenResponse, EgressFailure | GrantRefused>
  }
>() {}
