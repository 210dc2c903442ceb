/** Decides which addresses a tenant's request may reach: public unicast ones, and those that the operator allows. */
import { isIP, isIPv4, isIPv6 } from "node:net"
import { Either } from "effect"
import ipaddr from "ipaddr.js"

/** One entry of the operator's list. `port` is `null` for every port. */
export interface AllowedNetwork {
  readonly network: ipaddr.IPv4 | ipaddr.IPv6
  readonly prefix: number
  readonly port: number | null
}
export type AllowList = ReadonlyArray<AllowedNetwork>

/**
 * Reads a comma-separated list of networks: `10.0.0.0/8`, `10.0.0.0/8:443`, `127.0.0.1`, `127.0.0.1:8080`, `fd00::/8`,
 * `[fd00::]/8:443`, `[::1]:8080`. Empty text allows none. Left: which entry is wrong, and why.
 */
export const parseAllowList = (text: string): Either.Either<AllowList, string> => {
  const networks: Array<AllowedNetwork> = []
  for (const entry of text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "")) {
    const network = parseEntry(entry)
    if (typeof network === "string") return Either.left(`"${entry}" is not a network that can be allowed: ${network}`)
    networks.push(network)
  }
  return Either.right(networks)
}

/**
 * Why an address is blocked, or `undefined` if it is not.
 * IPv4 inside IPv6 (mapped, NAT64, 6to4) is checked as the IPv4 address that it maps to.
 */
export const whyBlocked = (address: string, port: number, allow: AllowList): string | undefined => {
  if (isIP(address) === 0) return "is not an IP address"
  if (isAllowed(address, port, allow)) return undefined
  const inner = unmapped(ipaddr.parse(address))
  const range = inner.range()
  if (range !== "unicast") return `is in the ${range} range`
  // ipaddr.js calls every range that it does not know unicast; IANA has assigned global unicast in 2000::/3 only.
  if (inner.kind() === "ipv6" && !inner.match(globalUnicast, 3)) return "is outside the global unicast range"
  return undefined
}

/** Whether the list contains the address, or the IPv4 address that it maps to. */
export const isAllowed = (address: string, port: number, allow: AllowList): boolean => {
  if (allow.length === 0) return false
  const asWritten = ipaddr.parse(address)
  const inner = unmapped(asWritten)
  return allow.some((entry) => allows(entry, asWritten, port) || allows(entry, inner, port))
}

const globalUnicast = ipaddr.IPv6.parse("2000::")
const nat64 = ipaddr.IPv6.parse("64:ff9b::")
const sixToFour = ipaddr.IPv6.parse("2002::")

const isV6 = (address: ipaddr.IPv4 | ipaddr.IPv6): address is ipaddr.IPv6 => address.kind() === "ipv6"

const unmapped = (address: ipaddr.IPv4 | ipaddr.IPv6): ipaddr.IPv4 | ipaddr.IPv6 => {
  if (!isV6(address)) return address
  if (address.isIPv4MappedAddress()) return address.toIPv4Address()
  const bytes = address.toByteArray()
  if (address.match(nat64, 96)) return new ipaddr.IPv4(bytes.slice(12, 16))
  if (address.match(sixToFour, 16)) return new ipaddr.IPv4(bytes.slice(2, 6))
  return address
}

const allows = (entry: AllowedNetwork, address: ipaddr.IPv4 | ipaddr.IPv6, port: number): boolean =>
  (entry.port === null || entry.port === port) &&
  entry.network.kind() === address.kind() &&
  address.match(entry.network, entry.prefix)

// --- Reading the list ---

const bracketed = /^\[([^\]]+)\](?:\/(\d{1,3}))?(?::(\d{1,5}))?$/
const dotted = /^([\d.]+)(?:\/(\d{1,3}))?(?::(\d{1,5}))?$/
const bareV6 = /^([0-9a-f:.]+)(?:\/(\d{1,3}))?$/i

const parseEntry = (entry: string): AllowedNetwork | string => {
  const match = bracketed.exec(entry) ?? dotted.exec(entry) ?? bareV6.exec(entry)
  const address = match?.[1]
  if (match === null || address === undefined || !(entry.startsWith("[") ? isIPv6(address) : isIP(address) !== 0)) {
    return "write an address or a network, e.g. 10.0.0.0/8, 127.0.0.1:8080, fd00::/8 or [fd00::]/8:443"
  }
  const widest = isIPv4(address) ? 32 : 128
  const prefix = match[2] === undefined ? widest : Number(match[2])
  if (prefix > widest) return `a prefix is at most ${widest}`
  const port = match[3] === undefined ? null : Number(match[3])
  if (port !== null && (port < 1 || port > 65_535)) return "a port is between 1 and 65535"
  return { network: ipaddr.parse(address), prefix, port }
}
