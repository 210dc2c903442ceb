/** A request and a reply as bytes: what a server driver hands to the surfaces and takes back. */

export interface RawRequest {
  readonly method: string
  /** Path and query exactly as sent. */
  readonly target: string
  /** Names in lower case; repeated headers joined by a comma. */
  readonly headers: { readonly [name: string]: string }
  readonly body: Uint8Array
  /** The socket's peer. */
  readonly remoteAddress: string
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
