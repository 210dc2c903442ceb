/**
 * The only way out: every request that leaves the service for a tenant's reasons goes through here.
 * It connects to public addresses only (and to what the operator allowed), follows redirects by hand,
 * and counts bytes and time.
 */
import type { Duration, Effect } from "effect"
import { Context, Data } from "effect"

export interface EgressRequest {
  readonly method: string
  readonly url: string
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  readonly body: Uint8Array | string | null
  readonly timeout: Duration.Duration
  /** Largest response body, in bytes after decompression. */
  readonly maxBytes: number
  /** How many redirects to follow; 0 answers the redirect itself. At most 3. */
  readonly redirects: number
}

/** A request's body that is still coming in while it goes out. */
export interface Upload {
  /** In bytes: what the head of the request says. */
  readonly length: number
  /**
   * All of it from its beginning, for each time that the request is sent; who asked before gets no more. Throws where the
   * body breaks off: the request must not look whole then.
   */
  readonly pieces: () => AsyncIterable<Uint8Array>
}

export interface OpenRequest extends EgressRequest {
  /** In place of `body`. The time that its sender takes is not counted in `timeout`. */
  readonly upload?: Upload | undefined
  /** How long nothing of the answer's body may move, because it does not come or nobody takes it. `timeout` is for its head. */
  readonly stall: Duration.Duration
}

/** An answer whose body is still on its way. */
export interface OpenResponse {
  readonly status: number
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  readonly url: string
  /** Comes as fast as it is taken. Ends with an error where the sender breaks off, stalls, or sends too much. */
  readonly body: AsyncIterable<Uint8Array>
  /** Nobody takes the rest: closes the connection to the sender. */
  readonly cancel: () => void
  /** Waits until nothing of it is on its way any more, however it ended. */
  readonly ended: Effect.Effect<void>
}

export interface EgressResponse {
  readonly status: number
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  readonly body: Uint8Array
  readonly url: string
}

/** The address is not one that a tenant may reach, or the URL cannot be one. */
export class EgressBlocked extends Data.TaggedError("EgressBlocked")<{
  readonly url: string
  readonly reason: string
}> {}
/** Nobody answered: name not found, refused, reset, broken protocol. */
export class EgressUnreachable extends Data.TaggedError("EgressUnreachable")<{
  readonly url: string
  readonly reason: string
}> {}
export class EgressTimedOut extends Data.TaggedError("EgressTimedOut")<{
  readonly url: string
  readonly afterMillis: number
}> {}
/** The answer is larger than the caller takes. */
export class EgressTooLarge extends Data.TaggedError("EgressTooLarge")<{
  readonly url: string
  readonly limitBytes: number
}> {}

export type EgressFailure = EgressBlocked | EgressUnreachable | EgressTimedOut | EgressTooLarge

export class Egress extends Context.Tag("svc/Egress")<
  Egress,
  {
    readonly send: (request: EgressRequest) => Effect.Effect<EgressResponse, EgressFailure>
    /** Like `send`, as soon as the answer's head is there. Whoever gets it reads the body to its end, or cancels it. */
    readonly open: (request: OpenRequest) => Effect.Effect<OpenResponse, EgressFailure>
    /** Whether a URL could ever be called, told before anything is sent: scheme, form, literal addresses. */
    readonly check: (url: string) => Effect.Effect<void, EgressBlocked>
  }
>() {}
