/** Sends requests with a connection's credential. Grants are opened here only. */
import { type Effect, Context, Data } from "effect"
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

export class ConnectedEgress extends Context.Tag("svc/ConnectedEgress")<
  ConnectedEgress,
  {
    /**
     * Adds the credential and sends the request. A redirect to another origin gets no credential and no header that could
     * be one. The credential is redacted from the answer if the provider echoes it.
     */
    readonly send: (
      request: ConnectedRequest
    ) => Effect.Effect<EgressResponse, EgressFailure | GrantRefused, AnswerHolding>
    /**
     * The same, but returns with the answer's head; its timeout is for the head, `stall` for the body. Refuses an `upload`
     * when the credential must sign or change the body.
     */
    readonly open: (
      request: ConnectedRequest & Pick<OpenRequest, "stall" | "upload">
    ) => Effect.Effect<OpenResponse, EgressFailure | GrantRefused>
  }
>() {}
