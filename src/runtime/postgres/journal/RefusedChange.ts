/** Tells why the writer's statement did not apply a change, and whether an error of Postgres will repeat. */
import { type Client, DatabaseError } from "pg"
import { type AppendFailure, ClaimTaken, Fenced, type RunChange } from "../../../actors/ports/Journal.js"
import { selectAppended } from "./Fence.js"

const sqlState = (error: unknown): string => (error instanceof DatabaseError ? (error.code ?? "") : "")

/** Postgres rejected the statement itself; after any other error the connection failed and the outcome is unknown. */
export const isRejected = (error: unknown): boolean => /^(2[0-9A-Z]|3|4[24]|5[45]|XX|P0)/.test(sqlState(error))

/** A deadlock or serialization failure: the same statement may succeed on the same connection. */
export const isRetryable = (error: unknown): boolean => sqlState(error).startsWith("40")

export const rejectionMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/**
 * Why the statement did not apply the change: another run holds its claim, or another owner has the run. Returns
 * `undefined` if the change is committed: its own claim is there, or an earlier try of the same batch wrote it.
 */
export const findRefusal = async (
  client: Client,
  change: RunChange,
  isResend: boolean
): Promise<AppendFailure | undefined> => {
  if (change.claim !== undefined) {
    const found = await client.query<{ target_id: string; hash: string | null }>(
      "SELECT target_id, hash FROM claims WHERE org = $1 AND scope = $2 AND key = $3",
      [change.organisationId, change.claim.scope, change.claim.key]
    )
    const [row] = found.rows
    if (row !== undefined && row.target_id !== change.id)
      return new ClaimTaken({ target: row.target_id, hash: row.hash })
    if (row !== undefined) return undefined
  }
  if (isResend && (await wasCommitted(client, change))) return undefined
  return new Fenced({ id: change.id })
}

const wasCommitted = async (client: Client, change: RunChange): Promise<boolean> => {
  if (change.end !== undefined) {
    const found = await client.query(
      "SELECT 1 FROM executions WHERE id = $1 AND class = $2 AND status = $3 AND finished_at = $4",
      [change.id, change.retention, change.end.status, new Date(change.end.finishedAt).toISOString()]
    )
    return found.rows.length > 0
  }
  const last = change.journal?.at(-1)
  if (last === undefined) return false
  const found = await client.query(selectAppended, [change.id, last.seq, change.epoch])
  return found.rows.length > 0
}
