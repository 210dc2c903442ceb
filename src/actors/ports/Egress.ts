/**
 * Sends every request that the service makes for a tenant. Connects to public addresses and the operator's networks only,
 * checks every redirect, and limits bytes and time.
 */
import { type Duration, type Effect, Context, Data } from "effect"
import type { ShareOwner } from "../../domain/share/ShareOwner.js"
import type { AnswerHolding, Holding } from "./HeldBytes.js"

/** A request to a public address, whose answer is read as a whole. */
export interface EgressRequest {
  /** For whom the request is sent: connections are divided among accounts. */
  readonly owner: ShareOwner
  readonly method: string
  readonly url: string
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  readonly body: Uint8Array | string | null
  readonly timeout: Duration.Duration
  /** Largest response body, in bytes after decompression. */
  readonly maxBytes: number
  /** How many redirects to follow, at most 3; 0 returns the redirect itself. */
  readonly redirects: number
}

/** Whether an answer of this status is a redirect (fetch standard, "redirect status"). */
export const isRedirect = (status: number): boolean => redirectStatus.has(status)
const redirectStatus: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** A request body that is streamed from the client to the provider. */
export interface Upload {
  /** In bytes, from the request's head. */
  readonly length: number
  /**
   * The whole body, anew for each attempt; an earlier iterator ends. Throws when the body breaks off, so that the request
   * is not sent as if it were complete.
   */
  readonly pieces: () => AsyncIterable<Uint8Array>
}

/** A request whose bodies are streamed. */
export interface OpenRequest extends EgressRequest {
  /** Replaces `body`. The time that its sender takes does not count towards `timeout`. */
  readonly upload?: Upload | undefined
  /** How long the body may stall, on either side. `timeout` is for the head. */
  readonly stall: Duration.Duration
}

/** An answer with a streamed body. */
export interface OpenResponse {
  readonly status: number
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  readonly url: string
  /** With back-pressure. Fails when the sender breaks off, stalls, or sends too much. */
  readonly body: AsyncIterable<Uint8Array>
  /** Closes the connection to the sender; the rest of the body is dropped. */
  readonly cancel: () => void
  /** Completes when the body has ended, failed or was cancelled. */
  readonly ended: Effect.Effect<void>
}

/** The whole answer, of any status. `url`: after redirects. */
export interface EgressResponse {
  readonly status: number
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  readonly body: Uint8Array
  readonly url: string
}

/** The URL is invalid, or leads to an address that a tenant may not reach. */
export class EgressBlocked extends Data.TaggedError("EgressBlocked")<{
  readonly url: string
  readonly reason: string
}> {}
/** There was no answer: name not found, connection refused or reset, protocol error. */
export class EgressUnreachable extends Data.TaggedError("EgressUnreachable")<{
  readonly url: string
  readonly reason: string
}> {}
/** There was no whole answer in time. The request may have been executed. */
export class EgressTimedOut extends Data.TaggedError("EgressTimedOut")<{
  readonly url: string
  readonly afterMillis: number
}> {}
/** The answer is larger than `maxBytes`. */
export class EgressTooLarge extends Data.TaggedError("EgressTooLarge")<{
  readonly url: string
  readonly limitBytes: number
}> {}
/** Nothing was sent: no connection was free in time, of the organisation's to this origin or of the node's. */
export class EgressBusy extends Data.TaggedError("EgressBusy")<{
  readonly url: string
  readonly waitedMillis: number
  readonly reason: string
}> {}

/** The node had no memory for the answer, or the organisation has too much of it already. The request was sent. */
export class EgressNoMemory extends Data.TaggedError("EgressNoMemory")<{ readonly url: string }> {}

/** Why there is no answer. Unless it is `EgressBlocked` or `EgressBusy`, the request may have been executed. */
export type EgressFailure =
  | EgressBlocked
  | EgressUnreachable
  | EgressTimedOut
  | EgressTooLarge
  | EgressBusy
  | EgressNoMemory

/** Connections of the node, and requests that waited for one. */
export interface EgressReadings {
  readonly capacity: number
  readonly open: number
  readonly waiting: number
  readonly refused: number
}

export class Egress extends Context.Tag("svc/Egress")<
  Egress,
  {
    /** The answer's bytes are counted from the first one on, in a holding of the caller. */
    readonly send: (request: EgressRequest) => Effect.Effect<EgressResponse, EgressFailure, AnswerHolding>
    /**
     * Like `send`, with a callback instead of an effect, for speed. Calls `done` once, unless it is given up before: that
     * is what the returned function does.
     */
    readonly ask: (
      request: EgressRequest,
      holding: Holding,
      done: (answer: EgressResponse | EgressFailure) => void
    ) => () => void
    /** Like `send`, but returns with the answer's head. The caller must read the body to its end or cancel it. */
    readonly open: (request: OpenRequest) => Effect.Effect<OpenResponse, EgressFailure>
    /** Checks a URL before it is used: scheme, form, literal addresses. */
    readonly check: (url: string) => Effect.Effect<void, EgressBlocked>
    /**
     * The same for an address to which the service sends what it has of a tenant: callbacks, events, notifications.
     * Without TLS they go only to servers in the operator's networks.
     */
    readonly checkTarget: (url: string) => Effect.Effect<void, EgressBlocked>
    readonly readings: Effect.Effect<EgressReadings>
  }
>() {}
