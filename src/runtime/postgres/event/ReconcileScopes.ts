/** Which events a reconciliation counts for a key: those of its workspace, of its customers, or in its scope. */
import type { EventHome, ReconciledRecords, RecordScope } from "../../../actors/ports/event/EventReads.js"
import type { CountedTable } from "./EventCounts.js"
import type { ReconcileScope } from "./Reconcile.js"
import { openEventsInScope, runsInScope, settledEventsInScope } from "./ScopedRows.js"

/** Which rows a key's reconciliation counts. */
export const reconcileScopeOf = (home: EventHome, { customers, scope }: ReconciledRecords): ReconcileScope => {
  const whole = customers === undefined ? ofWorkspace(home) : ofCustomers(home, customers)
  return scope === undefined ? whole : inScope(whole, scope)
}

const ofWorkspace = ({ organisationId, spaceId }: EventHome): ReconcileScope => ({
  places: (table) => `${table}.org = $4`,
  claims: (table) => `${table}.org = $4`,
  events: (table) => `${table}.org = $4 AND ${table}.space = $5`,
  paged: (table) => `${table}.org = $4 AND ${table}.space = $5`,
  counts: (table) => `${table}.org = $4 AND ${table}.space = $5`,
  pagedValues: [organisationId, spaceId],
  values: [organisationId, spaceId]
})

/** A claim and a count have no customer, so that an event without any row is not theirs to know. */
const ofCustomers = (home: EventHome, customers: ReadonlyArray<string>): ReconcileScope => {
  const { paged, values } = ofWorkspace(home)
  const events = (table: string) => `${paged(table)} AND ${table}.customer_id = ANY($6::text[])`
  return {
    places: (table) => `${table}.org = $4 AND ${table}.flow = ANY($6::text[])`,
    claims: () => "false",
    counts: () => "false",
    events,
    paged: events,
    pagedValues: [...values, customers],
    values: [...values, customers]
  }
}

/**
 * Neither a claim nor a count says to which workflow it belongs. Pages are of all rows of the workspace, so that one in
 * which few are in scope costs no more than others.
 */
const inScope = (whole: ReconcileScope, scope: RecordScope): ReconcileScope => {
  const values = [...whole.values]
  // One parameter for each value, since Postgres refuses parameters that a statement does not use.
  const add = (value: unknown) => `$${(values.includes(value) ? values.indexOf(value) + 1 : values.push(value)) + 3}`
  const conditions: { readonly [T in CountedTable]: ReadonlyArray<string> } = {
    events: openEventsInScope(scope, add, "$4"),
    event_records: settledEventsInScope(scope, add, "$4"),
    executions: runsInScope(scope, add),
    // Those of runs that account for an event in scope, wherever its route leads by now.
    dead_letters: []
  }
  const open = conditions.events.join(" AND ")
  return {
    paged: whole.paged,
    pagedValues: whole.pagedValues,
    places: (table) => `${whole.places(table)} AND EXISTS (SELECT FROM events e WHERE e.id = ${table}.id AND ${open})`,
    claims: () => "false",
    counts: () => "false",
    events: (alias, table) => [whole.events(alias, table), ...conditions[table]].join(" AND "),
    values
  }
}
