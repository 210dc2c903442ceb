/** The client address of a request, behind trusted proxies. */
import type { Addresses } from "../../actors/ports/Addresses.js"
import type { RequestHead } from "../Wire.js"

const peerCacheSize = 1_000

/** Makes the function that finds a request's client address behind trusted proxies. */
export const makeClientAddress = (addresses: Addresses["Type"]) => {
  /** Client addresses of peers that send no `x-forwarded-for`, by socket address: saves parsing on every request. */
  const peers = new Map<string, string>()
  return ({ headers, remoteAddress }: RequestHead): string => {
    const forwarded = headers["x-forwarded-for"]
    const cached = forwarded === undefined ? peers.get(remoteAddress) : undefined
    if (cached !== undefined) return cached
    const address = addresses.client(remoteAddress, forwarded)
    if (forwarded === undefined) {
      if (peers.size >= peerCacheSize) peers.clear()
      peers.set(remoteAddress, address)
    }
    return address
  }
}
