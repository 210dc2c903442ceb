/** The port `NodeHosts`: the addresses of this machine's network interfaces, and the one that the service listens on. */
import { Layer } from "effect"
import { isIPv6 } from "node:net"
import { networkInterfaces } from "node:os"
import { NodeHosts } from "../../http/mcp/GatewayAddress.js"

const inUrl = (address: string): string =>
  (isIPv6(address) ? `[${address.split("%")[0] ?? ""}]` : address).toLowerCase()

/** `host`: the name or address that the service listens on. */
export const layer = (host: string): Layer.Layer<NodeHosts> =>
  Layer.succeed(NodeHosts, {
    // Asked anew, since a machine's addresses change; only a request with another name than the public one asks.
    isOwn: (name) =>
      name === inUrl(host) ||
      Object.values(networkInterfaces()).some((found = []) => found.some(({ address }) => inUrl(address) === name))
  })
