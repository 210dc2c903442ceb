/** Finds the triggers of an event. */
import { Effect, Option } from "effect"
import type { Event } from "../../domain/Event.js"
import type { Unavailable } from "../../domain/Failure.js"
import type { Trigger } from "../../domain/Trigger.js"
import type { TriggerReads } from "../ports/Triggers.js"

/** What decides which triggers an event has. */
export type Addressed = Pick<
  Event,
  "organisationId" | "triggerId" | "connector" | "connectionId" | "customerId" | "type"
> & {
  readonly record: { readonly connectorEvent?: string }
}

/** Whether the trigger is for the connection and the customer of the event. */
const isFor = ({ connectionId, customerId }: Addressed, { appEvent, customerId: its }: Trigger): boolean => {
  const chosen = appEvent?.connectionId ?? null
  return (chosen === null || chosen === connectionId) && (its === null || its === customerId)
}

/** The triggers of an event: its own, else those for the event of its connector, else those for its type. */
export const triggersOf = (
  triggers: TriggerReads["Type"],
  event: Addressed
): Effect.Effect<ReadonlyArray<Trigger>, Unavailable> => {
  const { connector, organisationId, record, triggerId, type } = event
  if (triggerId !== null) return Effect.map(triggers.byId(triggerId), Option.toArray)
  const found =
    connector === null
      ? triggers.ofEvent(organisationId, type)
      : triggers.ofConnector(organisationId, connector, record.connectorEvent ?? type)
  return Effect.map(found, (all) => all.filter((trigger) => isFor(event, trigger)))
}
