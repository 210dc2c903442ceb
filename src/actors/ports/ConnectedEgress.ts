/** The way out for requests that carry a connection's credential: the only place where a grant is opened. */
import type { Effect } from "effect"
import { Context, Data } from "effect"
import type { UnsignedRequest } from "../../domain/connector/UnsignedRequest.js"
import type { ConnectionId, ExecutionId, OrganisationId } from "../../domain/Ids.js"
import type { EgressFailure, EgressResponse, OpenRequest, OpenResponse } from "./Egress.js"

/** The grant is not for this request, or its time is over; nothing was sent. */
export class GrantRefused extends Data.TaggedError("GrantRefused")<{ readonly reason: string }> {}

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
     * Sends the request with the credential in it. Redirects are followed on the same origin only with it; to another
     * origin nothing goes along that could be a credential. What the provider repeats of the credential is not in what
     * comes back.
     */
    readonly send: (request: ConnectedRequest) => Effect.Effect<EgressResponse, EgressFailure | GrantRefused>
    /**
     * The same, as soon as the answer's head is there. Its time is for the head, `stall` for the body. A credential that
     * needs the request's body takes no `upload`: that is refused.
     */
    readonly open: (
      request: ConnectedRequest & Pick<OpenRequest, "stall" | "upload">
    ) => Effect.Effect<OpenResponse, EgressFailure | GrantRefused>
  }
>() {}
