/** Finds the triggers of an event. */
import { Effect, Option } from "effect"
import type { Event } from "../../domain/Event.js"
import { isForConnection } from "../../domain/EventRouting.js"
import type { Unavailable } from "../../domain/Failure.js"
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
  return Effect.map(found, (all) => all.filter((trigger) => isInSpace(trigger) && isForConnection(event, trigger)))
}
