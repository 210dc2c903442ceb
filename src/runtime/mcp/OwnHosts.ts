/** The port `NodeHosts`: the addresses of this machine's network interfaces, and the one that the service listens on. */
import { Layer } from "effect"
import { networkInterfaces } from "node:os"
import { NodeHosts } from "../../http/mcp/GatewayAddress.js"
import { parseAddress } from "../process/IpAddress.js"

/** A name or an address as a URL has it: an address of IPv6 in brackets, and without the zone. */
const inUrl = (host: string): string => {
  const address = parseAddress(host.replace(/%.*$/, ""))
  if (address === undefined) return host.toLowerCase()
  return address.kind() === "ipv6" ? `[${address.toString()}]` : address.toString()
}

/** `host`: the name or address that the service listens on. */
export const layer = (host: string): Layer.Layer<NodeHosts> =>
  Layer.succeed(NodeHosts, {
    // Asked anew, since a machine's addresses change; only a request with another name than the public one asks.
    isOwn: (name) =>
      name === inUrl(host) ||
      Object.values(networkInterfaces()).some((found = []) => found.some(({ address }) => inUrl(address) === name))
  })
