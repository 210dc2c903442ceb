/** Finds the routes of triggers that an event takes. Contract: trigger record; condition AST. */
import { meetsCondition } from "../expression/ConditionEvaluation.js"
import { valueAt } from "../expression/Path.js"
import type { PatternLookup } from "../expression/PatternProgram.js"
import { eventSteps, StepBudget } from "../expression/StepBudget.js"
import type { Event } from "./Event.js"
import type { SpaceId } from "../Ids.js"
import { canonicalJson, type Json } from "../Json.js"
import type { Trigger, TriggerRoute } from "../trigger/Trigger.js"

/** A route that an event takes. */
export interface MatchedRoute {
  readonly trigger: Trigger
  readonly route: TriggerRoute
}

/**
 * The routes whose filters match the payload; none for a skipped tick. The filters share the steps of an event, in the order
 * of the routes: those that would take more match nothing.
 */
export const matchRoutes = (
  triggers: ReadonlyArray<Trigger>,
  { payload, record }: Pick<Event, "payload" | "record">,
  patterns: PatternLookup
): ReadonlyArray<MatchedRoute> => {
  const evaluation = { patterns, budget: new StepBudget(eventSteps) }
  return triggers.flatMap((trigger) =>
    trigger.routes
      .filter(({ filter, id }) => {
        if (record.ignoredBecause !== undefined) return false
        if (record.routes !== undefined) return record.routes.includes(id)
        return filter === null || meetsCondition(filter, payload, evaluation)
      })
      .map((route) => ({ trigger, route }))
  )
}

/** The connection and the customer of an event of a connector. */
type EventPlace = Pick<Event, "connectionId" | "customerId">

/** Whether the trigger is for the connection and the customer of the event. */
export const isForConnection = (
  { connectionId, customerId }: EventPlace,
  { appEvent, customerId: its }: Trigger
): boolean => {
  const chosen = appEvent?.connectionId ?? null
  return (chosen === null || chosen === connectionId) && (its === null || its === customerId)
}

/** The workspaces that have some of these triggers for the connection: each gets an event of its own. */
export const spacesFor = (place: EventPlace, triggers: ReadonlyArray<Trigger>): ReadonlyArray<SpaceId> => [
  ...new Set(triggers.filter((trigger) => isForConnection(place, trigger)).map(({ spaceId }) => spaceId))
]

/** The input of a route's run: a schedule's own payload unless a person sent another, else that of the event. */
export const inputOf = (
  { route, trigger }: MatchedRoute,
  { payload, source }: Pick<Event, "payload" | "source">
): Json => (trigger.type !== "schedule" || (source === "manual" && payload !== null) ? payload : (route.payload ?? {}))

const maxLaneLength = 500

/**
 * The lane of an event: a sequential trigger, or one partition of it. `null`: its runs may overlap. `hash` shortens a
 * long partition.
 */
export const laneOf = (trigger: Trigger, payload: Json, hash: (text: string) => string): string | null => {
  if (trigger.type === "schedule") return trigger.schedule?.overlap === "allow" ? null : trigger.id
  if (trigger.webhook?.executionMode !== "sequential") return null
  const { partitionKey } = trigger.webhook
  if (partitionKey === null) return trigger.id
  const value = valueAt(payload, partitionKey)
  const partition = typeof value === "string" ? value : canonicalJson(value ?? null)
  return `${trigger.id}:${partition.length > maxLaneLength ? hash(partition) : partition}`
}

/** What of a trigger recognises repetitions. */
interface Deduplicating {
  readonly webhook: Pick<NonNullable<Trigger["webhook"]>, "deduplicationKey"> | null
}

/** The text at a trigger's deduplication key; `null` if there is none, or a blank one, which identifies nothing. */
export const deduplicationValue = ({ webhook }: Deduplicating, payload: Json): string | null => {
  const path = webhook?.deduplicationKey ?? null
  const value = path === null ? undefined : valueAt(payload, path)
  if (value === undefined || value === null) return null
  if (typeof value !== "string") return canonicalJson(value)
  return value.trim() === "" ? null : value
}
