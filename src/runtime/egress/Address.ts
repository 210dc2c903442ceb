/** Decides which addresses a tenant's request may reach: public unicast ones, and those that the operator allows. */
import { Either } from "effect"
import {
  contains,
  unwrapAddress,
  type IpAddress,
  type IpNetwork,
  parseAddress,
  parseNetwork,
  whyNotPublic,
  widthOf
} from "../process/IpAddress.js"

/** One entry of the operator's list. `port` is `null` for every port. */
export interface AllowedNetwork extends IpNetwork {
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
export const whyBlocked = (text: string, port: number, allow: AllowList): string | undefined => {
  const address = parseAddress(text)
  if (address === undefined) return "is not an IP address"
  return isAllowed(text, port, allow) ? undefined : whyNotPublic(unwrapAddress(address))
}

/** Whether the list contains the address, or the IPv4 address that it maps to. */
export const isAllowed = (text: string, port: number, allow: AllowList): boolean => {
  const asWritten = allow.length === 0 ? undefined : parseAddress(text)
  if (asWritten === undefined) return false
  const inner = unwrapAddress(asWritten)
  return allow.some((entry) => allows(entry, asWritten, port) || allows(entry, inner, port))
}

const allows = (entry: AllowedNetwork, address: IpAddress, port: number): boolean =>
  (entry.port === null || entry.port === port) && contains(entry, address)

// --- Reading the list ---

const bracketed = /^\[([^\]/]+)\](\/\d{1,3})?(?::(\d{1,5}))?$/i
const dotted = /^([\d.]+)(\/\d{1,3})?(?::(\d{1,5}))?$/
const bareV6 = /^([0-9a-f:.]+)(\/\d{1,3})?$/i

const parseEntry = (entry: string): AllowedNetwork | string => {
  const match = bracketed.exec(entry) ?? dotted.exec(entry) ?? bareV6.exec(entry)
  const address = parseAddress(match?.[1] ?? "")
  if (match === null || address === undefined || (entry.startsWith("[") && address.kind() === "ipv4"))
    return "write an address or a network, e.g. 10.0.0.0/8, 127.0.0.1:8080, fd00::/8 or [fd00::]/8:443"
  const network = parseNetwork(`${match[1]}${match[2] ?? ""}`)
  if (network === undefined) return `a prefix is at most ${widthOf(address)}`
  const port = match[3] === undefined ? null : Number(match[3])
  if (port !== null && (port < 1 || port > 65_535)) return "a port is between 1 and 65535"
  return { ...network, port }
}
