/** What commits together: the change of one run, or that of an event with the runs that it starts. */
import type { EventChange } from "../../../actors/ports/event/EventJournal.js"
import type { Claim, RunChange, EventSettlement } from "../../../actors/ports/run/Journal.js"
import type { EventId, ExecutionId, OrganisationId } from "../../../domain/Ids.js"

/** It commits as a whole or not at all. */
export interface Unit {
  readonly organisationId: OrganisationId
  readonly runs: ReadonlyArray<RunChange>
  readonly event?: EventChange
}

export const claimOfUnit = ({ event, runs }: Unit): Claim | undefined =>
  runs[0]?.claim ?? event?.receives?.claim ?? event?.records?.claim

/** All keys of a claim. */
export const claimKeys = ({ key, signatureKey }: Claim): ReadonlyArray<string> =>
  signatureKey === undefined ? [key] : [signatureKey, key]

export const settlementOf = ({ event, runs }: Unit): EventSettlement | undefined => event?.settles ?? runs[0]?.settles

const eventIdOf = ({ event }: Unit): EventId | undefined =>
  event?.receives?.event.id ?? event?.records?.event.id ?? event?.settles?.eventId

/** The ids of a unit's rows in the statement's list of changes: of its runs, else of its event. */
export const idsOf = (unit: Unit): ReadonlyArray<ExecutionId | EventId> => {
  if (unit.runs.length > 0) return unit.runs.map(({ id }) => id)
  const event = eventIdOf(unit)
  return event === undefined ? [] : [event]
}
