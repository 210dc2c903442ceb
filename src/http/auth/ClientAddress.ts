/** The client address of a request, behind trusted proxies. */
import type { Addresses } from "../../actors/ports/organisation/Addresses.js"
import { memoize } from "../../domain/RecentMap.js"
import type { RequestHead } from "../Wire.js"

const peerCacheSize = 1_000

/** Makes the function that finds a request's client address behind trusted proxies. */
export const makeClientAddress = (addresses: Addresses["Type"]) => {
  /** Of a peer that sends no `x-forwarded-for`: saves parsing on every request. */
  const ofPeer = memoize((remoteAddress) => addresses.client(remoteAddress, undefined), peerCacheSize)
  return ({ headers, remoteAddress }: RequestHead): string => {
    const forwarded = headers["x-forwarded-for"]
    return forwarded === undefined ? ofPeer(remoteAddress) : addresses.client(remoteAddress, forwarded)
  }
}
