/** Reads of audit entries for the API, as the organisation's role, and of the sealer's backlog. */
import type { SqlClient } from "@effect/sql/SqlClient"
import { Effect } from "effect"
import type { AuditQuery, SealedEntry } from "../../actors/ports/AuditTrail.js"
import type { AuditEntry } from "../../domain/Audit.js"
import { Unavailable } from "../../domain/Failure.js"
import type { OrganisationId } from "../../domain/Ids.js"

/** Entries that the backlog counts at most for each organisation. */
const mostCounted = 50_000

const unavailable = () => new Unavailable({ reason: "the database cannot be reached", retryAfterSeconds: 1 })

/** Reads in a transaction that sees this organisation only. */
export const asOrganisation = <A>(
  app: SqlClient,
  organisation: OrganisationId,
  body: Effect.Effect<A, unknown>
): Effect.Effect<A, Unavailable> =>
  app
    .withTransaction(Effect.zipRight(app`SELECT set_config('svc.org', ${organisation}, true)`, body))
    .pipe(Effect.mapError(unavailable))

/** Conditions that limit a query to the entries that the caller may see. */
const reachConditions = (reach: AuditQuery["reach"], add: (value: unknown) => string): ReadonlyArray<string> => {
  if (reach === undefined) return []
  const theirs = `e.customer_id = ANY(${add(reach.customers)})`
  return reach.actorId === null
    ? [theirs]
    : [`(${theirs} OR (e.customer_id IS NULL AND e.actor_id = ${add(reach.actorId)}))`]
}

/** The entries that a query selects, the newest first, each with its place in the chain. */
export const listEntries = (app: SqlClient, organisation: OrganisationId, query: AuditQuery) => {
  const values: Array<unknown> = [organisation]
  const add = (value: unknown) => `$${values.push(value)}`
  const is = (column: string, value: string | undefined) => (value === undefined ? [] : [`e.${column} = ${add(value)}`])
  const where = [
    "e.org = $1",
    ...is("customer_id", query.customerId),
    ...is("actor_type", query.actorType),
    ...is("actor_id", query.actorId),
    ...is("action", query.action),
    ...is("resource_type", query.resourceType),
    ...is("resource_id", query.resourceId),
    ...reachConditions(query.reach, add),
    ...(query.from === undefined ? [] : [`e.at >= ${add(query.from)}`]),
    ...(query.to === undefined ? [] : [`e.at < ${add(query.to)}`]),
    ...(query.before === undefined ? [] : [`e.id < ${add(query.before)}`])
  ].join(" AND ")
  return asOrganisation(
    app,
    organisation,
    app.unsafe<{ entry: AuditEntry; seq: number | null; prevHash: string | null; hash: string | null }>(
      `SELECT e.entry, s.seq::float8 AS seq, s.prev_hash AS "prevHash", s.hash FROM audit_entries e
     LEFT JOIN audit_seal s ON s.entry_id = e.id WHERE ${where} ORDER BY e.id DESC LIMIT ${add(query.limit)}`,
      values
    )
  ).pipe(Effect.map((rows) => rows.map(({ entry, ...place }): SealedEntry => ({ ...entry, ...place }))))
}

/**
 * How many entries are not yet sealed, and the age of the oldest. One index scan for each organisation, from the
 * position of its sealer.
 */
export const sealBacklog = (writer: SqlClient) =>
  writer<{ unsealed: number; oldest: number }>`
  SELECT count(e.at)::int AS unsealed, coalesce(max(extract(epoch FROM now() - e.at)), 0)::float8 AS oldest
  FROM organisations o LEFT JOIN audit_heads h ON h.org = o.id CROSS JOIN LATERAL (
    SELECT e.at FROM audit_entries e
    WHERE e.org = o.id AND (e.xid, e.id) > (coalesce(h.xid, 0), coalesce(h.entry_id, ''))
    ORDER BY e.xid, e.id LIMIT ${mostCounted}) e`.pipe(
    Effect.map(([row]) => ({ unsealed: row?.unsealed ?? 0, oldestSeconds: Math.max(0, row?.oldest ?? 0) })),
    Effect.mapError(unavailable)
  )
