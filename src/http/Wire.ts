/** A request and a reply as bytes: what a server driver hands to the surfaces and takes back. */

import type { Failure } from "../domain/Failure.js"

export interface RequestHead {
  readonly method: string
  /** Path and query exactly as sent. */
  readonly target: string
  /** Names in lower case; repeated headers joined by a comma. */
  readonly headers: { readonly [name: string]: string }
  /** The socket's peer. */
  readonly remoteAddress: string
}

export interface RawRequest extends RequestHead {
  readonly body: Uint8Array
}

/** A request of which perhaps no more than the head is there. */
export interface ArrivingRequest extends RequestHead {
  readonly body: Uint8Array | BodyToCome
}

/** A request's body that is still coming in: it comes as fast as it is asked for, and no further than its limit. */
export interface BodyToCome {
  /** In bytes, as the head told it; null: nobody knows before the end. */
  readonly length: number | null
  /** The next piece; `undefined`: that was all. One asks at a time. */
  readonly next: () => Promise<Uint8Array | undefined | BrokenOff>
}

/** No more will come: the sender went away, stalled, or sent too much. */
export interface BrokenOff {
  readonly failure: Failure
}

export interface RawReply {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  readonly body: string | Uint8Array | BodyInPieces
}

/** A body that is still on its way. Where it breaks off, so does the reply. */
export interface BodyInPieces {
  readonly pieces: AsyncIterable<Uint8Array>
  /** Nobody takes the rest. */
  readonly cancel: () => void
}

export const pathOf = (target: string): string => {
  const query = target.indexOf("?")
  return query < 0 ? target : target.slice(0, query)
}

export const jsonReply = (
  status: number,
  body: unknown,
  headers: { readonly [name: string]: string } = {}
): RawReply => ({
  status,
  headers: { "content-type": "application/json; charset=utf-8", ...headers },
  body: JSON.stringify(body)
})

/** What an index can hold of a target, in characters. */
const indexedTarget = 1_000

/** By what a target is known in an index: the target, or of a long one its digest. */
export const targetMark = (target: string, sha256Hex: (text: string) => string): string =>
  target.length <= indexedTarget ? target : `${pathOf(target).slice(0, indexedTarget)}?${sha256Hex(target)}`
