/** Finds the triggers of an event. */
import { Effect, Option } from "effect"
import type { Event } from "../../domain/Event.js"
import type { Unavailable } from "../../domain/Failure.js"
import type { SpaceId } from "../../domain/Ids.js"
import type { Trigger } from "../../domain/Trigger.js"
import type { TriggerReads } from "../ports/Triggers.js"

/** What decides which triggers an event has. */
export type Addressed = Pick<
  Event,
  "organisationId" | "triggerId" | "connector" | "connectionId" | "customerId" | "type"
> & {
  /** The workspace of an event of a connector; each workspace with triggers on it has its own. */
  readonly spaceId?: Event["spaceId"]
  readonly record: { readonly connectorEvent?: string }
}

/** Whether the trigger is for the connection and the customer of the event. */
const isFor = (
  { connectionId, customerId }: Pick<Addressed, "connectionId" | "customerId">,
  { appEvent, customerId: its }: Trigger
): boolean => {
  const chosen = appEvent?.connectionId ?? null
  return (chosen === null || chosen === connectionId) && (its === null || its === customerId)
}

/** The workspaces that have active triggers on an event of the connection. */
export const spacesOf = (
  triggers: TriggerReads["Type"],
  {
    connector,
    event,
    ...about
  }: Pick<Addressed, "organisationId" | "connectionId" | "customerId"> & {
    readonly connector: string
    /** The id of the connector's event. */
    readonly event: string
  }
): Effect.Effect<ReadonlyArray<SpaceId>, Unavailable> =>
  Effect.map(triggers.ofConnector(about.organisationId, connector, event), (found) => [
    ...new Set(found.filter((trigger) => isFor(about, trigger)).map(({ spaceId }) => spaceId))
  ])

/** The triggers of an event: its own, else those for the event of its connector, else those for its type. */
export const triggersOf = (
  triggers: TriggerReads["Type"],
  event: Addressed
): Effect.Effect<ReadonlyArray<Trigger>, Unavailable> => {
  const { connector, organisationId, record, spaceId, triggerId, type } = event
  if (triggerId !== null) return Effect.map(triggers.byId(triggerId), Option.toArray)
  const found =
    connector === null
      ? triggers.ofEvent(organisationId, type)
      : triggers.ofConnector(organisationId, connector, record.connectorEvent ?? type)
  const isInSpace = (trigger: Trigger) => connector === null || spaceId === undefined || trigger.spaceId === spaceId
  return Effect.map(found, (all) => all.filter((trigger) => isInSpace(trigger) && isFor(event, trigger)))
}
