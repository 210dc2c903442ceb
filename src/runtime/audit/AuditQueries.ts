/** Reads of audit entries for the API, as the organisation's role, and of the sealer's backlog. */
import type { Sql } from "../postgres/database/Sql.js"
import { Effect, Schema } from "effect"
import type { AuditQuery } from "../../actors/ports/AuditTrail.js"
import type { SealedEntry, AuditEntry } from "../../domain/audit/Audit.js"
import { type CommittedValue, restoreValues, type StoredAuditEntry } from "../../domain/audit/AuditCommitment.js"
import type { OrganisationId } from "../../domain/Ids.js"
import type { OrganisationVault, Vault } from "../../actors/ports/Vault.js"
import { auditValuesPlace } from "../postgres/AuditRow.js"
import { databaseUnavailable } from "../postgres/database/DatabaseUnavailable.js"
import { organisationReader } from "../postgres/database/OrganisationRole.js"
import { storedDocument } from "../../domain/Json.js"
import { rowDecoder } from "../postgres/record/Table.js"

/** Customers of one page whose keys are read at once. */
const openersAtOnce = 10

/** Entries that the backlog counts at most for each organisation. */
const mostCounted = 50_000

/** Reads in a transaction that sees this organisation only. */
export const asOrganisation = organisationReader()

/** Conditions that limit a query to the entries that the caller may see. */
const reachConditions = (reach: AuditQuery["reach"], add: (value: unknown) => string): ReadonlyArray<string> => {
  if (reach === undefined) return []
  const theirs = `e.customer_id = ANY(${add(reach.customers)})`
  return reach.actorId === null
    ? [theirs]
    : [`(${theirs} OR (e.customer_id IS NULL AND e.actor_id = ${add(reach.actorId)}))`]
}

/** The entries that a query selects, the newest first, each with its place in the chain. */
export const listEntries = (app: Sql, vault: Vault["Type"], organisation: OrganisationId, query: AuditQuery) => {
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
    app.unsafe(
      `SELECT e.entry, e.sealed, s.seq::float8 AS seq, s.prev_hash AS "prevHash", s.hash FROM audit_entries e
     LEFT JOIN audit_seal s ON s.entry_id = e.id WHERE ${where} ORDER BY e.id DESC LIMIT ${add(query.limit)}`,
      values
    )
  ).pipe(Effect.flatMap((rows) => openEntries(vault, rows.map(decodeListed))))
}

const decodeListed = rowDecoder("audit_entries", {
  entry: storedDocument<StoredAuditEntry>(),
  sealed: Schema.NullOr(Schema.Uint8ArrayFromSelf),
  seq: Schema.NullOr(Schema.Number),
  prevHash: Schema.NullOr(Schema.String),
  hash: Schema.NullOr(Schema.String)
})
type ListedRow = ReturnType<typeof decodeListed>
const decodeBacklog = rowDecoder("audit_entries", { unsealed: Schema.Number, oldest: Schema.Number })

/** Puts the values of customers back into their entries; those of a customer whose key is destroyed are erased. */
const openEntries = Effect.fnUntraced(function* (vault: Vault["Type"], rows: ReadonlyArray<ListedRow>) {
  const customers = new Set(rows.flatMap(({ entry, sealed }) => (sealed === null ? [] : [entry.customerId ?? ""])))
  const openers = yield* Effect.forEach(
    customers,
    (id) => Effect.map(Effect.mapError(vault.opener(id), databaseUnavailable), (opener) => [id, opener] as const),
    { concurrency: openersAtOnce }
  )
  const byCustomer = new Map(openers)
  return rows.map(({ entry, sealed, ...place }): SealedEntry => {
    const opener = byCustomer.get(entry.customerId ?? "")
    const values = sealed === null || opener === undefined ? undefined : openValues(opener, entry.id, sealed)
    const restored = sealed === null ? { entry: asWritten(entry), commitments: [] } : restoreValues(entry, values)
    return { ...restored.entry, commitments: restored.commitments, ...place }
  })
})

/** An entry without commitments is stored as it was written. */
const asWritten = (entry: StoredAuditEntry) => entry as AuditEntry

/** The values of an entry that rest sealed; `undefined` if they cannot be opened. */
export const openValues = (
  opener: Pick<OrganisationVault, "open">,
  id: string,
  sealed: Uint8Array
): ReadonlyArray<CommittedValue> | undefined => {
  try {
    // AuditRow wrote it.
    return JSON.parse(Buffer.from(opener.open(auditValuesPlace(id), sealed)).toString())
  } catch {
    return undefined
  }
}

/**
 * How many entries are not yet sealed, and the age of the oldest. One index scan for each organisation, from the
 * position of its sealer.
 */
export const sealBacklog = (writer: Sql) =>
  writer`
  SELECT count(e.at)::int AS unsealed, coalesce(max(extract(epoch FROM now() - e.at)), 0)::float8 AS oldest
  FROM organisations o LEFT JOIN audit_heads h ON h.org = o.id CROSS JOIN LATERAL (
    SELECT e.at FROM audit_entries e
    WHERE e.org = o.id AND (e.xid, e.id) > (coalesce(h.xid, 0), coalesce(h.entry_id, ''))
    ORDER BY e.xid, e.id LIMIT ${mostCounted}) e`.pipe(
    Effect.map(([row]) => {
      const { oldest, unsealed } = row === undefined ? { unsealed: 0, oldest: 0 } : decodeBacklog(row)
      return { unsealed, oldestSeconds: Math.max(0, oldest) }
    }),
    Effect.mapError(databaseUnavailable)
  )
