/** Parses and compares IP addresses and ranges, with ipaddr.js. */
import { Layer } from "effect"
import ipaddr from "ipaddr.js"
import { Addresses } from "../../actors/ports/organisation/Addresses.js"

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** Turns an IPv4-mapped IPv6 address into the IPv4 address. */
const unmapped = (address: Address): Address =>
  address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address

const parse = (text: string): Address | undefined => {
  const bare = text.replace(/^\[|\]$/g, "")
  return ipaddr.isValid(bare) ? unmapped(ipaddr.parse(bare)) : undefined
}

const parseRange = (text: string): readonly [Address, number] | undefined => {
  if (!text.includes("/")) {
    const address = parse(text)
    return address === undefined ? undefined : [address, address.kind() === "ipv4" ? 32 : 128]
  }
  try {
    const [base, bits] = ipaddr.parseCIDR(text)
    // `::ffff:192.0.2.0/120` is `192.0.2.0/24`: clients are compared as IPv4.
    return base instanceof ipaddr.IPv6 && base.isIPv4MappedAddress() && bits >= 96
      ? [base.toIPv4Address(), bits - 96]
      : [base, bits]
  } catch {
    return undefined
  }
}

const matches = (address: Address, [base, bits]: readonly [Address, number]): boolean =>
  address instanceof ipaddr.IPv4
    ? base instanceof ipaddr.IPv4 && address.match(base, bits)
    : base instanceof ipaddr.IPv6 && address.match(base, bits)

/** As ipaddr.js calls them: RFC 1122, 1918, 3927, 4193, 4291, and 6598, from which pods get addresses. */
const privateRanges: ReadonlySet<string> = new Set([
  "loopback",
  "private",
  "linkLocal",
  "uniqueLocal",
  "carrierGradeNat"
])

export const make = (trustedProxies: ReadonlyArray<string>) => {
  const trusted = trustedProxies.flatMap((text) => {
    const range = parseRange(text)
    return range === undefined ? [] : [range]
  })
  const isTrusted = (text: string): boolean => {
    const address = parse(text)
    return address !== undefined && trusted.some((range) => matches(address, range))
  }
  const within = (text: string, ranges: ReadonlyArray<string>): boolean => {
    const address = parse(text)
    if (address === undefined) return false
    return ranges.some((text) => {
      const range = parseRange(text)
      return range !== undefined && matches(address, range)
    })
  }
  return Addresses.of({
    within,
    covers: (range, ranges) => {
      const inner = parseRange(range)
      if (inner === undefined) return false
      return ranges.some((text) => {
        const outer = parseRange(text)
        return outer !== undefined && outer[1] <= inner[1] && matches(inner[0], outer)
      })
    },
    mistake: (range) =>
      parseRange(range) === undefined ? `"${range}" is neither an address nor a range such as 192.0.2.0/24` : undefined,
    isTrustedProxy: isTrusted,
    isPrivate: (text) => privateRanges.has(parse(text)?.range() ?? ""),
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
