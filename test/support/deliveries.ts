/** Claims deliveries as their sweep does. */
import { Effect } from "effect"
import type { Deliveries } from "../../src/actors/ports/delivery/Deliveries.js"
import type { Room } from "../../src/actors/Places.js"

/** Nothing is taken. */
export const openRoom: Room = {
  fullAccounts: [],
  closedPartners: [],
  reservedFor: [],
  isReserved: false,
  answering: []
}

/** Claims what may get a place. */
export const claimDue = (deliveries: Deliveries["Type"], room: Partial<Room> = {}) =>
  Effect.flatMap(deliveries.find("deliveries", { ...openRoom, ...room }), (found) =>
    deliveries.claim(found.map(({ id }) => id))
  )

/** The endpoint of a URL: without query and fragment. */
export const endpointOf = (url: string): string => {
  const cut = url.search(/[?#]/)
  return cut < 0 ? url : url.slice(0, cut)
}
