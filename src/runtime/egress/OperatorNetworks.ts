/** The port `OperatorNetworks`, with the operator's list of allowed networks and the system's resolver. */
import { Duration, Effect, Layer } from "effect"
import { OperatorNetworks } from "../../actors/management/connector/ConnectorImport.js"
import { type AllowList, isAllowed } from "./Address.js"
import { isAddress } from "../process/IpAddress.js"
import { type Resolve, systemResolve } from "./Connect.js"

const patience = Duration.seconds(5)

export const make = (allow: AllowList, resolve: Resolve = systemResolve): OperatorNetworks["Type"] => {
  const addressesOf = (host: string): Effect.Effect<ReadonlyArray<string>> =>
    !isAddress(host)
      ? Effect.tryPromise(() => resolve(host)).pipe(
          Effect.timeout(patience),
          Effect.orElseSucceed(() => [])
        )
      : Effect.succeed([host])
  return {
    isEmpty: allow.length === 0,
    covers: (url) =>
      Effect.try(() => new URL(url)).pipe(
        Effect.flatMap(({ hostname, port, protocol }) => {
          const number = port === "" ? (protocol === "https:" ? 443 : 80) : Number(port)
          return Effect.map(
            addressesOf(hostname.replace(/^\[|\]$/g, "")),
            (addresses) => addresses.length > 0 && addresses.every((address) => isAllowed(address, number, allow))
          )
        }),
        Effect.orElseSucceed(() => false)
      )
  }
}

export const layer = (allow: AllowList) => Layer.succeed(OperatorNetworks, make(allow))
