/** Internet addresses and ranges. */
import { Context } from "effect"

export class Addresses extends Context.Tag("svc/Addresses")<
  Addresses,
  {
    /** Whether an address lies in one of the ranges (CIDR, or a bare address). */
    readonly within: (address: string, ranges: ReadonlyArray<string>) => boolean
    /** Whether one of the ranges contains the whole range. */
    readonly covers: (range: string, ranges: ReadonlyArray<string>) => boolean
    /** Why a text is not a valid range; `undefined` if it is. */
    readonly mistake: (range: string) => string | undefined
    /** The client's address: the socket's peer, or behind trusted proxies the last hop that is not one of them. */
    readonly client: (peer: string, forwardedFor: string | undefined) => string
    /** Whether the peer is a proxy whose word on the client's address is taken. */
    readonly isTrustedProxy: (peer: string) => boolean
    /** Whether the address is of this machine, or of a network that the internet does not reach. */
    readonly isPrivate: (address: string) => boolean
  }
>() {}
