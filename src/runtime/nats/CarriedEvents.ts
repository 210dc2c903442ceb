/**
 * The events of this node that the broker carries, and those that have arrived and wait for a slot. Arrived events leave
 * by the weights of their classes.
 */
import type { LeasedEvent } from "../../actors/ports/run/StartQueue.js"
import type { EventId, OrganisationId } from "../../domain/Ids.js"

const weights = [8, 4, 2, 1] as const

interface Carried {
  readonly event: LeasedEvent
  readonly since: number
}

export const makeCarriedEvents = () => {
  const carried = new Map<EventId, Carried>()
  const arrived: ReadonlyArray<Array<LeasedEvent>> = weights.map(() => [])
  /** Smooth weighted round robin: the class with the highest credit is next. */
  const credits = weights.map(() => 0)

  const next = (): LeasedEvent | undefined => {
    let best = -1
    let total = 0
    for (const [i, weight] of weights.entries()) {
      if (arrived[i]?.length === 0) continue
      credits[i] = (credits[i] ?? 0) + weight
      total += weight
      if (best < 0 || (credits[i] ?? 0) > (credits[best] ?? 0)) best = i
    }
    if (best < 0) return undefined
    credits[best] = (credits[best] ?? 0) - total
    return arrived[best]?.shift()
  }

  const arrivedCount = () => arrived.reduce((sum, { length }) => sum + length, 0)

  return {
    /** Events on their way, and events that wait for a slot. */
    size: () => carried.size + arrivedCount(),
    carriedCount: () => carried.size,
    arrivedCount,
    /** Adds those of other nodes too, so that none of their accounts exceeds its limit. */
    countByAccount: (underWay: ReadonlyMap<OrganisationId, number>): ReadonlyMap<OrganisationId, number> => {
      const counts = new Map(underWay)
      const count = ({ accountId }: LeasedEvent) => counts.set(accountId, (counts.get(accountId) ?? 0) + 1)
      for (const { event } of carried.values()) count(event)
      for (const events of arrived) for (const event of events) count(event)
      return counts
    },
    send: (events: ReadonlyArray<LeasedEvent>, now: number) => {
      for (const event of events) carried.set(event.id, { event, since: now })
    },
    /** The event is no longer on its way. */
    land: ({ claims, id }: Pick<LeasedEvent, "id" | "claims">) => {
      if (carried.get(id)?.event.claims === claims) carried.delete(id)
    },
    arrive: (event: LeasedEvent) => {
      carried.delete(event.id)
      arrived[event.priority - 1]?.push(event)
    },
    /** Removes events that wait for a slot. */
    take: (slots: number): ReadonlyArray<LeasedEvent> => {
      const events: Array<LeasedEvent> = []
      while (events.length < slots) {
        const event = next()
        if (event === undefined) break
        events.push(event)
      }
      return events
    },
    drop: ({ claims, id, priority }: LeasedEvent) => {
      const events = arrived[priority - 1] ?? []
      const at = events.findIndex((event) => event.id === id && event.claims === claims)
      if (at >= 0) events.splice(at, 1)
    },
    /** The events that have been on their way since `before` or longer. */
    olderThan: (before: number): ReadonlyArray<LeasedEvent> =>
      [...carried.values()].filter(({ since }) => since <= before).map(({ event }) => event)
  }
}
