/** Compares the addresses of clients with ranges. IPv4-mapped IPv6 addresses count as IPv4. */
import { Layer } from "effect"
import { Addresses } from "../../actors/ports/organisation/Addresses.js"
import {
  contains,
  type IpAddress,
  type IpNetwork,
  isPrivateAddress,
  parseAddress,
  parseNetwork,
  unmapAddress
} from "./IpAddress.js"

const parse = (text: string): IpAddress | undefined => {
  const address = parseAddress(text.replace(/^\[|\]$/g, ""))
  return address === undefined ? undefined : unmapAddress(address)
}

const parseRange = (text: string): IpNetwork | undefined => {
  const network = parseNetwork(text.includes("/") ? text : text.replace(/^\[|\]$/g, ""))
  if (network === undefined) return undefined
  const base = unmapAddress(network.base)
  // `::ffff:192.0.2.0/120` is `192.0.2.0/24`: clients are compared as IPv4.
  return base === network.base || network.prefix < 96 ? network : { base, prefix: network.prefix - 96 }
}

export const make = (trustedProxies: ReadonlyArray<string>) => {
  const trusted = trustedProxies.flatMap((text) => {
    const range = parseRange(text)
    return range === undefined ? [] : [range]
  })
  const isTrusted = (text: string): boolean => {
    const address = parse(text)
    return address !== undefined && trusted.some((range) => contains(range, address))
  }
  const within = (text: string, ranges: ReadonlyArray<string>): boolean => {
    const address = parse(text)
    if (address === undefined) return false
    return ranges.some((text) => {
      const range = parseRange(text)
      return range !== undefined && contains(range, address)
    })
  }
  return Addresses.of({
    within,
    covers: (range, ranges) => {
      const inner = parseRange(range)
      if (inner === undefined) return false
      return ranges.some((text) => {
        const outer = parseRange(text)
        return outer !== undefined && outer.prefix <= inner.prefix && contains(outer, inner.base)
      })
    },
    mistake: (range) =>
      parseRange(range) === undefined ? `"${range}" is neither an address nor a range such as 192.0.2.0/24` : undefined,
    isTrustedProxy: isTrusted,
    isPrivate: (text) => {
      const address = parse(text)
      return address !== undefined && isPrivateAddress(address)
    },
    client: (peer, forwardedFor) => {
      if (forwardedFor === undefined || trusted.length === 0) return normal(peer)
      // From the nearest hop outwards: entries beyond the first untrusted hop can be forged.
      const hops = [...forwardedFor.split(",").map(hopAddress), peer].toReversed()
      return normal(hops.find((hop) => !isTrusted(hop)) ?? peer)
    }
  })
}

/** The address of a hop, which some proxies write with a port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
const hopAddress = (hop: string): string => {
  const text = hop.trim()
  return /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(text)?.[1] ?? text
}

const normal = (text: string): string => parse(text)?.toString() ?? text

export const layer = (trustedProxies: ReadonlyArray<string>) => Layer.sync(Addresses, () => make(trustedProxies))
