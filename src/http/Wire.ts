/** Requests and replies as bytes: what the server driver passes to the surfaces and gets back. */

import type { Effect } from "effect"
import type { Principal } from "../actors/management/Caller.js"
import type { Failure } from "../domain/Failure.js"

/** A caller that was recognised by the head of its request, before the body was read. */
export interface RecognisedCaller {
  readonly caller: Principal
  /** Completes the authentication with the whole request: verifies its signature, where the credential asks for one. */
  readonly verify: (request: LazyRequest) => Effect.Effect<Principal, Failure>
}

/** A request without its body. */
export interface RequestHead {
  readonly method: string
  /** Path and query exactly as sent. */
  readonly target: string
  /** Names in lower case; repeated headers joined by a comma. */
  readonly headers: { readonly [name: string]: string }
  /** The address of the socket's peer. */
  readonly remoteAddress: string
  /** Set where a large body was read only for its caller, who is then authenticated once. */
  readonly recognised?: RecognisedCaller | undefined
}

/** A request with its whole body. */
export interface RawRequest extends RequestHead {
  readonly body: Uint8Array
}

/** A request whose body may not have been read yet. */
export interface IncomingRequest extends RequestHead {
  readonly body: Uint8Array | BodyStream
}

/** A request whose body is read only if something needs it, such as a signature that covers it. */
export interface LazyRequest extends RequestHead {
  readonly body: Uint8Array | Effect.Effect<Uint8Array, Failure>
}

/** A request's body that is still being received: read on demand, up to the limit of its size. */
export interface BodyStream {
  /** Bytes by `content-length`; null if the header is absent. */
  readonly length: number | null
  /** The next chunk; `undefined` at the end. Not to be called concurrently. */
  readonly next: () => Promise<Uint8Array | undefined | AbortedBody>
}

/** The body was not received completely: its sender disconnected, stalled or exceeded the limit. */
export interface AbortedBody {
  readonly failure: Failure
}

/** A reply as the server driver sends it. */
export interface RawReply {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  readonly body: string | Uint8Array | StreamedBody
  /** An answer that needs no key: what of it clients have not read is bounded. */
  readonly isPublic?: boolean
}

/** A reply's body that streams. If it fails, the reply is cut off. */
export interface StreamedBody {
  readonly pieces: AsyncIterable<Uint8Array>
  /** Called when the client takes no more of it. */
  readonly cancel: () => void
  /** It ends only when it is cancelled, so that a server that leaves cancels it. */
  readonly isEndless?: boolean
}

/** The target without its query. */
export const pathOf = (target: string): string => {
  const query = target.indexOf("?")
  return query < 0 ? target : target.slice(0, query)
}

/** A reply whose body is `body` as JSON. */
export const jsonReply = (
  status: number,
  body: unknown,
  headers: { readonly [name: string]: string } = {}
): RawReply => ({
  status,
  headers: { "content-type": "application/json; charset=utf-8", ...headers },
  body: JSON.stringify(body)
})

/** Characters of a target that a database index can hold. */
const indexedTargetLength = 1_000

/** The target as an index key; of a long target, its beginning and its digest. */
export const targetIndexKey = (target: string, sha256Hex: (text: string) => string): string =>
  target.length <= indexedTargetLength ? target : `${pathOf(target).slice(0, indexedTargetLength)}?${sha256Hex(target)}`
