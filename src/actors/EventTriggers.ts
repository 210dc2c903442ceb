/** Finds the triggers of an event, and those of them that a narrowed key reaches. */
import { Effect, Option } from "effect"
import type { Event, EventFacts } from "../domain/event/Event.js"
import { isForConnection } from "../domain/event/EventRouting.js"
import { Forbidden, type Unavailable } from "../domain/Failure.js"
import type { TriggerId } from "../domain/Ids.js"
import type { Trigger } from "../domain/trigger/Trigger.js"
import type { RecordScope } from "./ports/event/EventReads.js"
import type { TriggerReads } from "./ports/event/Triggers.js"

/** What decides which triggers an event has. */
export type Addressed = Pick<
  Event,
  "organisationId" | "triggerId" | "connector" | "connectionId" | "customerId" | "type"
> & {
  /** The workspace of an event of a connector; each workspace with triggers on it has its own. */
  readonly spaceId?: Event["spaceId"]
  readonly record: Pick<EventFacts, "connectorEvent" | "onlyTriggers">
}

/** The triggers of an event: its own, else those for the event of its connector, else those for its type. */
export const triggersOf = (triggers: TriggerReads["Type"], event: Addressed) => {
  const { connector, organisationId, record, spaceId, triggerId, type } = event
  const { onlyTriggers } = record
  if (triggerId !== null) return Effect.map(triggers.byId(triggerId), Option.toArray)
  const found =
    connector === null
      ? triggers.ofEvent(organisationId, type)
      : triggers.ofConnector(organisationId, connector, record.connectorEvent ?? type)
  const isInSpace = (trigger: Trigger) => connector === null || spaceId === undefined || trigger.spaceId === spaceId
  const isAllowed = ({ id }: Trigger) => onlyTriggers === undefined || onlyTriggers.includes(id)
  return Effect.map(found, (all) =>
    all.filter((trigger) => isInSpace(trigger) && isAllowed(trigger) && isForConnection(event, trigger))
  )
}

const isInScope = ({ environments, workflows }: RecordScope, trigger: Trigger): boolean =>
  (workflows === undefined || trigger.workflowIds.every((id) => workflows.includes(id))) &&
  (environments === undefined || trigger.environments.every((slug) => environments.includes(slug)))

/**
 * The only triggers that may take an event which a key of this scope makes: those of its workspace in scope. `routes`: the
 * routes that it asks for, all of which must be theirs. Fails with `Forbidden` if there is none.
 */
export const narrowTriggers = Effect.fnUntraced(function* (
  triggers: TriggerReads["Type"],
  event: Addressed & Required<Pick<Addressed, "spaceId">>,
  scope: RecordScope,
  routes: ReadonlyArray<string> = []
): Effect.fn.Return<ReadonlyArray<TriggerId>, Forbidden | Unavailable> {
  const all = yield* triggersOf(triggers, event)
  const reached = all.filter((trigger) => trigger.spaceId === event.spaceId && isInScope(scope, trigger))
  const isReached = (route: string) => reached.some((trigger) => trigger.routes.some(({ id }) => id === route))
  return reached.length > 0 && routes.every(isReached)
    ? reached.map(({ id }) => id)
    : yield* new Forbidden({
        code: "RESOURCE_OUT_OF_SCOPE",
        message: "no trigger in this key's scope takes that event, or by those routes: use a key without a scope"
      })
})
