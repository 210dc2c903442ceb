/** Tells why the writer's statement did not apply a change, and whether an error of Postgres will repeat. */
import { type Client, DatabaseError } from "pg"
import { type AppendFailure, ClaimTaken, Fenced, type RunChange } from "../../../actors/ports/run/Journal.js"
import { claimKeys, claimOfUnit, idsOf, type Unit } from "./Unit.js"
import { selectAppended } from "./Fence.js"

const sqlState = (error: unknown): string => (error instanceof DatabaseError ? (error.code ?? "") : "")

/**
 * Postgres rejected the statement itself; after any other error the connection failed and the outcome is unknown. A database
 * that is read-only (25006) rejects no statement in particular.
 */
export const isRejected = (error: unknown): boolean =>
  /^(2[0-9A-Z]|3|4[24]|5[45]|XX|P0)/.test(sqlState(error)) && sqlState(error) !== "25006"

/** A deadlock or serialization failure: the same statement may succeed on the same connection. */
export const isRetryable = (error: unknown): boolean => sqlState(error).startsWith("40")

export const rejectionMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/**
 * Why the statement did not apply the change: another run holds its claim, or another owner has the run. Returns
 * `undefined` if the change is committed: its own claim is there, or an earlier try of the same batch wrote it.
 */
export const findRefusal = async (
  client: Client,
  unit: Unit,
  isResend: boolean
): Promise<AppendFailure | undefined> => {
  const claim = claimOfUnit(unit)
  const [run] = unit.runs
  const [id] = idsOf(unit)
  if (claim !== undefined) {
    // Not decoded, since a commit waits for it, and it is compared with the commit's own values.
    const found = await client.query<{ target_id: string; hash: string | null }>(
      "SELECT target_id, hash FROM claims WHERE org = $1 AND scope = $2 AND key = ANY ($3)",
      [unit.organisationId, claim.scope, claimKeys(claim)]
    )
    const other = found.rows.find(({ target_id }) => target_id !== id)
    if (other !== undefined) return new ClaimTaken({ target: other.target_id, hash: other.hash })
    if (found.rows.length > 0) return undefined
  }
  const wasApplied = run === undefined ? wasEventCommitted : wasRunCommitted
  if (isResend && (await wasApplied(client, unit, run))) return undefined
  return id === undefined ? undefined : new Fenced({ id })
}

/** The received events that are held beyond their allowance. An earlier try of the same batch may have written them. */
export const findHeld = async (
  client: Client,
  items: ReadonlyArray<{ readonly unit: Unit }>
): Promise<ReadonlySet<string>> => {
  const ids = items.flatMap(({ unit: { event } }) =>
    event?.receives?.allowance === undefined ? [] : [event.receives.event.id]
  )
  if (ids.length === 0) return new Set()
  // Not decoded, for the same reason.
  const found = await client.query<{ id: string }>(
    "SELECT id FROM events WHERE id = ANY($1::text[]) AND status = 'held'",
    [ids]
  )
  return new Set(found.rows.map(({ id }) => id))
}

/** Whether the unit, which starts no run, was written. */
const wasEventCommitted = async (client: Client, { event }: Unit): Promise<boolean> => {
  const received = event?.receives?.event.id ?? event?.records?.event.id
  if (received !== undefined) {
    const found = await client.query(
      "SELECT 1 FROM events WHERE id = $1 UNION ALL SELECT 1 FROM event_records WHERE id = $1",
      [received]
    )
    return found.rows.length > 0
  }
  const settlement = event?.settles
  if (settlement === undefined) return false
  const found = await client.query("SELECT 1 FROM event_records WHERE id = $1 AND status = $2 AND finished_at = $3", [
    settlement.eventId,
    settlement.status,
    new Date(settlement.at).toISOString()
  ])
  return found.rows.length > 0
}

const wasRunCommitted = async (client: Client, _unit: Unit, change: RunChange | undefined): Promise<boolean> => {
  if (change?.end !== undefined) {
    const found = await client.query(
      "SELECT 1 FROM executions WHERE id = $1 AND class = $2 AND status = $3 AND finished_at = $4",
      [change.id, change.retention, change.end.status, new Date(change.end.finishedAt).toISOString()]
    )
    return found.rows.length > 0
  }
  const last = change?.journal?.at(-1)
  if (change === undefined || last === undefined) return false
  const found = await client.query(selectAppended, [change.id, last.seq, change.epoch ?? change.open?.epoch])
  return found.rows.length > 0
}
