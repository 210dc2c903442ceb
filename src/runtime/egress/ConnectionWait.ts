/** Waits for a connection, for half of a request's time at most: the other half is the receiver's. */
import { Duration } from "effect"
import { EgressBusy, type EgressRequest } from "../../actors/ports/Egress.js"
import { egress } from "../../domain/Limits.js"
import type { ConnectionPlaces, ConnectionPlace, Shortage } from "./ConnectionPlaces.js"

/** The request's time is over. */
export class OutOfTime extends Error {}

/** No connection was free in time. */
export class NoConnection extends Error {
  constructor(
    readonly shortage: Shortage,
    readonly waitedMillis: number
  ) {
    super("no connection was free")
  }
}

const reasons: { readonly [shortage in Shortage]: string } = {
  origin: `the organisation's ${egress.connectionsPerOrigin} connections to this address were in use`,
  node: "the share of the node's connections of the organisation and those that share its plan was in use"
}

export const busyFailure = (url: string, { shortage, waitedMillis }: NoConnection): EgressBusy =>
  new EgressBusy({ url, waitedMillis, reason: `${reasons[shortage]} for ${waitedMillis} ms` })

type GiveUp = (reason: Error) => void

/** Runs `send` with a place, or calls `failed` once with `NoConnection` or the reason that ended the wait. */
export const withPlace = (
  places: ConnectionPlaces,
  { owner, timeout }: Pick<EgressRequest, "owner" | "timeout">,
  origin: string,
  send: (place: ConnectionPlace) => GiveUp,
  failed: (error: Error) => void
): GiveUp => {
  const started = performance.now()
  let stop: GiveUp | undefined
  let timer: NodeJS.Timeout | undefined
  const endWait = places.take(owner, origin, (place) => {
    clearTimeout(timer)
    stop = send(place)
  })
  const giveUp = (reason: Error) => {
    if (stop !== undefined) return stop(reason)
    const shortage = endWait()
    if (shortage === undefined) return
    clearTimeout(timer)
    if (!(reason instanceof OutOfTime)) return failed(reason)
    places.refuse()
    failed(new NoConnection(shortage, Math.round(performance.now() - started)))
  }
  if (stop === undefined) timer = setTimeout(() => giveUp(new OutOfTime()), Duration.toMillis(timeout) / 2)
  return giveUp
}
