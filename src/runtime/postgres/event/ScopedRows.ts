/**
 * Conditions on the events and dead letters that a narrowed key sees: those of a trigger all of whose workflows and
 * environments are in its scope. An event that names no trigger is seen if all triggers to which it is limited, or all
 * routes that took it, are in scope.
 */
import type { RecordScope } from "../../../actors/ports/event/EventReads.js"

type Add = (value: unknown) => string

/** The parameter of the organisation, unless another is named. */
const firstParameter = "$1"

/** The triggers in scope. */
const scopedTriggers = (selected: string, { environments, workflows }: RecordScope, add: Add, org: string): string => {
  const conditions = [
    ...(workflows === undefined ? [] : [` AND t.workflow_ids <@ ${add(workflows)}::text[]`]),
    ...(environments === undefined ? [] : [` AND t.environments <@ ${add(environments)}::text[]`])
  ]
  return `SELECT ${selected} AND t.org = ${org}${conditions.join("")}`
}

const scopedRoutes = (scope: RecordScope, add: Add, org: string): string =>
  scopedTriggers(
    "r->>'id' FROM triggers t, jsonb_array_elements(t.routes) r WHERE r->>'id' IS NOT NULL",
    scope,
    add,
    org
  )

const ofTrigger = (scope: RecordScope, add: Add, org: string): string =>
  `trigger_id IN (${scopedTriggers("t.id FROM triggers t WHERE t.id IS NOT NULL", scope, add, org)})`

/** The condition on events that name no trigger, and are limited to some in scope. */
const limitedToTriggers = (scope: RecordScope, add: Add, org: string): string =>
  `trigger_id IS NULL AND json_array_length(COALESCE(record->'onlyTriggers', '[]')) > 0
    AND NOT EXISTS (SELECT FROM json_array_elements_text(record->'onlyTriggers') o
      WHERE o NOT IN (${scopedTriggers("t.id FROM triggers t WHERE t.id IS NOT NULL", scope, add, org)}))`

/** A condition on rows of `events`, whose routes are not known yet. */
export const openEventsInScope = (
  scope: RecordScope | undefined,
  add: Add,
  org = firstParameter
): ReadonlyArray<string> =>
  scope === undefined ? [] : [`(${ofTrigger(scope, add, org)} OR ${limitedToTriggers(scope, add, org)})`]

/** A condition on rows of `event_records`. */
export const settledEventsInScope = (
  scope: RecordScope | undefined,
  add: Add,
  org = firstParameter
): ReadonlyArray<string> =>
  scope === undefined
    ? []
    : [
        `(${ofTrigger(scope, add, org)} OR ${limitedToTriggers(scope, add, org)}
          OR trigger_id IS NULL AND json_array_length(COALESCE(deliveries, '[]')) > 0
          AND NOT EXISTS (SELECT FROM json_array_elements(deliveries) d
            WHERE d->>'route' NOT IN (${scopedRoutes(scope, add, org)})))`
      ]

/** Conditions on columns of runs: the workflow and the environment. */
const ofRun = (
  { environments, workflows }: RecordScope,
  columns: { readonly workflow: string; readonly environment: string },
  add: Add
): ReadonlyArray<string> => [
  ...(workflows === undefined ? [] : [`${columns.workflow} = ANY(${add(workflows)}::text[])`]),
  ...(environments === undefined ? [] : [`${columns.environment} = ANY(${add(environments)}::text[])`])
]

/** A condition on rows of `executions`. */
export const runsInScope = (scope: RecordScope, add: Add): ReadonlyArray<string> =>
  ofRun(scope, { workflow: "workflow_id", environment: "record->>'environment'" }, add)

/** A condition on rows of `dead_letters`: those without a trigger are of a run. */
export const lettersInScope = (scope: RecordScope | undefined, add: Add): ReadonlyArray<string> => {
  if (scope === undefined) return []
  const columns = { workflow: "context->>'workflowId'", environment: "context->>'environment'" }
  const letters = ["trigger_id IS NULL", "execution_id IS NOT NULL", ...ofRun(scope, columns, add)]
  return [`(${ofTrigger(scope, add, firstParameter)} OR ${letters.join(" AND ")})`]
}
