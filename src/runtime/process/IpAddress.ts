/**
 * The one parser of IP addresses and networks. An IPv4 address is four decimal numbers without leading zeros: other
 * spellings, which some readers take for octal or for fewer parts, are not addresses.
 */
import ipaddr from "ipaddr.js"
import { isIP } from "node:net"

export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6

/** An address and the number of its leading bits that all addresses of the network share. */
export interface IpNetwork {
  readonly base: IpAddress
  readonly prefix: number
}

/** Whether the text is an IP address. */
export const isAddress = (text: string): boolean => isIP(text) !== 0

/** Whether the text is an address, or a name that is not made of digits and dots alone. */
export const isHost = (text: string): boolean => isAddress(text) || (text !== "" && /[^\d.]/.test(text))

/** The address; `undefined` for other text, a name for example. */
export const parseAddress = (text: string): IpAddress | undefined => (isAddress(text) ? ipaddr.parse(text) : undefined)

/** The number of bits of an address. */
export const widthOf = (address: IpAddress): number => (address.kind() === "ipv4" ? 32 : 128)

/** Reads `192.0.2.0/24`, `2001:db8::/32`, or an address as a network of its own; `undefined` for other text. */
export const parseNetwork = (text: string): IpNetwork | undefined => {
  const [, address = "", bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const base = parseAddress(address)
  if (base === undefined) return undefined
  const prefix = bits === undefined ? widthOf(base) : Number(bits)
  return prefix > widthOf(base) ? undefined : { base, prefix }
}

/** Whether the network contains the address, of the same family. */
export const contains = ({ base, prefix }: IpNetwork, address: IpAddress): boolean =>
  base.kind() === address.kind() && address.match(base, prefix)

/** The IPv4 address of an IPv4-mapped one; other addresses as they are. */
export const unmapAddress = (address: IpAddress): IpAddress =>
  isV6(address) && address.isIPv4MappedAddress() ? address.toIPv4Address() : address

/** The IPv4 address that an IPv6 address leads to (mapped, NAT64, 6to4); other addresses as they are. */
export const unwrapAddress = (address: IpAddress): IpAddress => {
  if (!isV6(address)) return address
  const bytes = address.toByteArray()
  if (address.match(nat64, 96)) return new ipaddr.IPv4(bytes.slice(12, 16))
  if (address.match(sixToFour, 16)) return new ipaddr.IPv4(bytes.slice(2, 6))
  return unmapAddress(address)
}

const isV6 = (address: IpAddress): address is ipaddr.IPv6 => address.kind() === "ipv6"

const nat64 = ipaddr.IPv6.parse("64:ff9b::")
const sixToFour = ipaddr.IPv6.parse("2002::")
const globalUnicast = ipaddr.IPv6.parse("2000::")

/** Ranges as ipaddr.js calls them: RFC 1122, 1918, 3927, 4193, 4291, and 6598, from which pods get addresses. */
const privateRanges: ReadonlySet<string> = new Set([
  "loopback",
  "private",
  "linkLocal",
  "uniqueLocal",
  "carrierGradeNat"
])

/** Whether the address is of this machine, or of a network that the internet does not reach. */
export const isPrivateAddress = (address: IpAddress): boolean => privateRanges.has(address.range())

/** Why an address is not public, or `undefined` if it is. */
export const whyNotPublic = (address: IpAddress): string | undefined => {
  const range = address.range()
  if (range !== "unicast") return `is in the ${range} range`
  // ipaddr.js calls every range that it does not know unicast; IANA has assigned global unicast in 2000::/3 only.
  if (isV6(address) && !address.match(globalUnicast, 3)) return "is outside the global unicast range"
  return undefined
}
