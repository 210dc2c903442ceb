/**
 * The row of an audit entry: the entry as a document, and the columns that queries filter by. The values of a customer's
 * entry are sealed under a key of that customer, which erasure destroys.
 */
import type { Sql } from "./database/Sql.js"
import type { SqlError } from "@effect/sql/SqlError"
import { Effect } from "effect"
import { randomBytes } from "node:crypto"
import { Digests } from "../../actors/ports/Digests.js"
import { Vault } from "../../actors/ports/Vault.js"
import type { AuditEntry } from "../../domain/audit/Audit.js"
import { commitValues, type StoredAuditEntry } from "../../domain/audit/AuditCommitment.js"
import { Unavailable } from "../../domain/Failure.js"

export interface AuditRow {
  readonly id: string
  readonly org: string
  readonly at: string
  readonly actor_type: string
  readonly actor_id: string
  readonly action: string
  readonly resource_type: string
  readonly resource_id: string | null
  readonly customer_id: string | null
  readonly outcome: string
  readonly entry: StoredAuditEntry
  /** The values of the entry and their salts; Base64. */
  readonly sealed: string | null
}

/** The place of an entry's values. Its key is that of the customer. */
export const auditValuesPlace = (id: string) => ({ table: "audit_entries", column: "sealed", row: id }) as const

/** The row of an entry without values of a customer. */
export const auditRow = (
  entry: AuditEntry,
  stored: StoredAuditEntry = entry,
  sealed: string | null = null
): AuditRow => ({
  id: entry.id,
  org: entry.organisationId,
  at: entry.at,
  actor_type: entry.actor.type,
  actor_id: entry.actor.id,
  action: entry.action,
  resource_type: entry.resource.type,
  resource_id: entry.resource.id,
  customer_id: entry.customerId,
  outcome: entry.outcome,
  entry: stored,
  sealed
})

/** The row of a run's entry, which tells of ids and states only. */
export const runAuditRow = (entry: AuditEntry): Omit<AuditRow, "sealed"> => {
  const { sealed: _, ...row } = auditRow(entry)
  return row
}

const newSalt = () => randomBytes(16).toString("hex")

/** The columns of the table; `sealed` comes as Base64. */
const columns = {
  id: "text",
  org: "text",
  at: "timestamptz",
  actor_type: "text",
  actor_id: "text",
  action: "text",
  resource_type: "text",
  resource_id: "text",
  customer_id: "text",
  outcome: "text",
  entry: "json",
  sealed: "text"
} as const

const names = Object.keys(columns).join(", ")
const shape = Object.entries(columns)
  .map(([name, type]) => `${name} ${type}`)
  .join(", ")

/** Inserts the rows of a parameter, a JSON array of them. */
export const insertAuditRows = (parameter: string): string =>
  `INSERT INTO audit_entries (${names}) SELECT ${names.replace("sealed", "decode(sealed, 'base64')")}
   FROM json_to_recordset(${parameter}::json) AS t(${shape})`

/** Inserts entries in the current transaction; the sealer chains them afterwards. */
export const writeAuditRows = (sql: Sql, rows: ReadonlyArray<AuditRow>): Effect.Effect<void, SqlError> =>
  rows.length === 0 ? Effect.void : Effect.asVoid(sql.unsafe(insertAuditRows("$1"), [JSON.stringify(rows)]))

/**
 * Writes audit entries within the transaction of the change that they tell of. A customer's key is read over the writer's
 * pool: a transaction of that pool makes its rows before it begins, so that it never waits for a second connection.
 */
export class AuditRows extends Effect.Service<AuditRows>()("svc/AuditRows", {
  effect: Effect.gen(function* () {
    const vault = yield* Vault
    const { sha256Hex } = yield* Digests

    const rowOf = (entry: AuditEntry): Effect.Effect<AuditRow, Unavailable> => {
      if (entry.customerId === null) return Effect.succeed(auditRow(entry))
      const committed = commitValues(entry, newSalt, sha256Hex)
      if (committed.values.length === 0) return Effect.succeed(auditRow(entry))
      return Effect.map(
        Effect.mapError(vault.of(entry.customerId), ({ reason }) => new Unavailable({ reason, retryAfterSeconds: 1 })),
        (own) => {
          const sealed = own.seal(auditValuesPlace(entry.id), JSON.stringify(committed.values))
          return auditRow(entry, committed.entry, Buffer.from(sealed).toString("base64"))
        }
      )
    }
    const of = (entries: ReadonlyArray<AuditEntry>) => Effect.forEach(entries, rowOf)

    return {
      of,
      write: (sql: Sql, entries: ReadonlyArray<AuditEntry>) =>
        Effect.flatMap(of(entries), (rows) => writeAuditRows(sql, rows))
    }
  })
}) {}
