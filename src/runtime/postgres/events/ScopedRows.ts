/**
 * Conditions on the events and dead letters that a narrowed key sees: those of a trigger all of whose workflows and
 * environments are in its scope. An event that names no trigger is seen if all routes that took it are in scope.
 */
import type { RecordScope } from "../../../actors/ports/EventReads.js"

type Add = (value: unknown) => string

/** The triggers in scope. `$1` is the organisation. */
const scopedTriggers = (selected: string, { environments, workflows }: RecordScope, add: Add): string => {
  const conditions = [
    ...(workflows === undefined ? [] : [` AND t.workflow_ids <@ ${add(workflows)}::text[]`]),
    ...(environments === undefined ? [] : [` AND t.environments <@ ${add(environments)}::text[]`])
  ]
  return `SELECT ${selected} AND t.org = $1${conditions.join("")}`
}

const scopedRoutes = (scope: RecordScope, add: Add): string =>
  scopedTriggers("r->>'id' FROM triggers t, jsonb_array_elements(t.routes) r WHERE r->>'id' IS NOT NULL", scope, add)

const ofTrigger = (scope: RecordScope, add: Add): string =>
  `trigger_id IN (${scopedTriggers("t.id FROM triggers t WHERE t.id IS NOT NULL", scope, add)})`

/** A condition on rows of `events`, whose routes are not known yet. */
export const openEventsInScope = (scope: RecordScope | undefined, add: Add): ReadonlyArray<string> =>
  scope === undefined ? [] : [ofTrigger(scope, add)]

/** A condition on rows of `event_records`. */
export const settledEventsInScope = (scope: RecordScope | undefined, add: Add): ReadonlyArray<string> =>
  scope === undefined
    ? []
    : [
        `(${ofTrigger(scope, add)} OR trigger_id IS NULL AND json_array_length(COALESCE(deliveries, '[]')) > 0
          AND NOT EXISTS (SELECT FROM json_array_elements(deliveries) d
            WHERE NOT d->>'route' = ANY (ARRAY(${scopedRoutes(scope, add)}))))`
      ]

/** A condition on rows of `dead_letters`: those without a trigger are of a run. */
export const lettersInScope = (scope: RecordScope | undefined, add: Add): ReadonlyArray<string> => {
  if (scope === undefined) return []
  const { environments, workflows } = scope
  const ofRun = [
    "trigger_id IS NULL",
    "execution_id IS NOT NULL",
    ...(workflows === undefined ? [] : [`context->>'workflowId' = ANY(${add(workflows)}::text[])`]),
    ...(environments === undefined ? [] : [`context->>'environment' = ANY(${add(environments)}::text[])`])
  ]
  return [`(${ofTrigger(scope, add)} OR ${ofRun.join(" AND ")})`]
}
