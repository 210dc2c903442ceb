/**
 * Group commit: one writer a process. Changes queue up while two flushes are in flight, and each flush takes all
 * that wait, so batches grow with the load and no timer delays a lone change.
 */
import { describe } from "../../telemetry/SafeError.js"
import { Client, DatabaseError } from "pg"
import {
  ChangeRefused,
  ClaimTaken,
  Fenced,
  JournalUnavailable,
  type AppendFailure
} from "../../../actors/ports/Journal.js"
import { selectAppended } from "./Fence.js"
import { makeBatch, type PreparedChange } from "./Batch.js"
import { makeStatements } from "./Statement.js"

interface QueuedChange extends PreparedChange {
  readonly done: (failure: AppendFailure | undefined) => void
}

export interface WriterOptions {
  readonly connectionString: string
  /** Changes that may wait; one more is refused. */
  readonly capacity: number
  /** Told after each commit. */
  readonly onCommit: (changes: ReadonlyArray<PreparedChange>) => void
}

export interface Writer {
  readonly write: (prepared: PreparedChange, done: (failure: AppendFailure | undefined) => void) => void
  /** Changes that wait or are in flight. */
  readonly pending: () => number
  readonly close: () => Promise<void>
}

const maxFlushes = 2
const maxBatchChanges = 500
const maxBatchCharacters = 8_000_000
/** A batch whose connection is lost is sent again for this long. */
const resendMillis = 10_000

const claimKey = ({ change }: PreparedChange): string | undefined =>
  change.claim === undefined ? undefined : `${change.organisationId}|${change.claim.scope}|${change.claim.key}`

const sqlState = (error: unknown): string => (error instanceof DatabaseError ? (error.code ?? "") : "")
/** Postgres judged the statement; anything else means that the connection failed and the outcome is unknown. */
const isRejected = (error: unknown): boolean => /^(2[0-9A-Z]|3|4[24]|5[45]|XX|P0)/.test(sqlState(error))
const isRetryable = (error: unknown): boolean => sqlState(error).startsWith("40")

const pause = (millis: number) => new Promise<void>((resolve) => setTimeout(resolve, millis))

export const makeWriter = (options: WriterOptions): Writer => {
  let queue: Array<QueuedChange> = []
  const statementOf = makeStatements()
  /** Runs and claims that a flush is writing. */
  const keysInFlight = new Set<string>()
  let inFlight = 0
  let scheduled = false
  let closed = false
  const idle: Array<Client | undefined> = Array.from({ length: maxFlushes }, () => undefined)
  let onDrained: (() => void) | undefined

  const connect = async (): Promise<Client> => {
    const client = new Client({
      connectionString: options.connectionString,
      application_name: "svc-journal",
      keepAlive: true,
      connectionTimeoutMillis: 5_000
    })
    // A connection lost between flushes is found at the next one.
    client.on("error", () => undefined)
    await client.connect()
    return client
  }

  // --- Batching ---

  /** Takes what may be written now: one change of a run at a time, in their order, and one of a claim. */
  const takeBatch = (): ReadonlyArray<QueuedChange> => {
    const items: Array<QueuedChange> = []
    const left: Array<QueuedChange> = []
    const passed = new Set<string>()
    let size = 0
    for (const item of queue) {
      const keys = [item.change.id, claimKey(item) ?? item.change.id]
      const full = items.length >= maxBatchChanges || (items.length > 0 && size + item.size > maxBatchCharacters)
      if (full || keys.some((key) => keysInFlight.has(key) || passed.has(key))) left.push(item)
      else {
        size += item.size
        items.push(item)
      }
      for (const key of keys) passed.add(key)
    }
    for (const item of items) markInFlight(item, "add")
    queue = left
    return items
  }

  const markInFlight = (item: QueuedChange, how: "add" | "delete") => {
    keysInFlight[how](item.change.id)
    const key = claimKey(item)
    if (key !== undefined) keysInFlight[how](key)
  }

  const startFlushes = () => {
    scheduled = false
    while (inFlight < maxFlushes && queue.length > 0) {
      const items = takeBatch()
      if (items.length === 0) return
      inFlight++
      void flush(idle.pop(), items, performance.now(), false).then((client) => {
        idle.push(client)
        inFlight--
        for (const item of items) markInFlight(item, "delete")
        if (queue.length > 0) schedule()
        else if (inFlight === 0) onDrained?.()
      })
    }
  }

  const schedule = () => {
    if (scheduled) return
    scheduled = true
    setImmediate(startFlushes)
  }

  // --- Writing ---

  /** Writes the batch and answers everyone in it; gives back the connection, or nothing when it is broken. */
  const flush = async (
    idleClient: Client | undefined,
    items: ReadonlyArray<QueuedChange>,
    startedAt: number,
    isResend: boolean
  ): Promise<Client | undefined> => {
    let client = idleClient
    try {
      client ??= await connect()
      const { name, text, values } = statementOf(makeBatch(items))
      const result = await client.query<{ id: string }>({ name, text, values: [...values] })
      const refused = new Set(result.rows.map((row) => row.id))
      await reportResults(client, items, refused, isResend)
      return client
    } catch (error) {
      if (isRejected(error)) return splitRejected(client, items, startedAt, error)
      if (!isRetryable(error)) void client?.end().catch(() => undefined)
      if (performance.now() - startedAt > resendMillis || closed) {
        const failure = new JournalUnavailable({ reason: describe(error) })
        for (const item of items) item.done(failure)
        return undefined
      }
      await pause(isRetryable(error) ? 5 : 100)
      return flush(isRetryable(error) ? client : undefined, items, startedAt, true)
    }
  }

  /** A statement that Postgres refuses is halved until the change that it refuses is alone. */
  const splitRejected = async (
    client: Client | undefined,
    items: ReadonlyArray<QueuedChange>,
    startedAt: number,
    error: unknown
  ): Promise<Client | undefined> => {
    const [first] = items
    if (items.length === 1 && first !== undefined) {
      first.done(new ChangeRefused({ reason: reasonOf(error) }))
      return client
    }
    const middle = Math.ceil(items.length / 2)
    const next = await flush(client, items.slice(0, middle), startedAt, true)
    return flush(next, items.slice(middle), startedAt, true)
  }

  const reportResults = async (
    client: Client,
    items: ReadonlyArray<QueuedChange>,
    refused: ReadonlySet<string>,
    isResend: boolean
  ): Promise<void> => {
    const committed: Array<QueuedChange> = []
    for (const item of items) {
      if (!refused.has(item.change.id)) {
        committed.push(item)
        continue
      }
      const failure = await findRefusal(client, item, isResend)
      if (failure === undefined) committed.push(item)
      else item.done(failure)
    }
    for (const item of committed) item.done(undefined)
    options.onCommit(committed)
  }

  /** A refused change: another's claim, another incarnation, or, sent again, one that had committed already. */
  const findRefusal = async (
    client: Client,
    { change }: QueuedChange,
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
    if (isResend && (await wasCommitted(client, { change }))) return undefined
    return new Fenced({ id: change.id })
  }

  const wasCommitted = async (client: Client, { change }: Pick<QueuedChange, "change">): Promise<boolean> => {
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

  return {
    write: (prepared, done) => {
      if (closed) return done(new JournalUnavailable({ reason: "the service is stopping" }))
      if (queue.length >= options.capacity)
        return done(new JournalUnavailable({ reason: "too many changes wait to be written" }))
      queue.push({ ...prepared, done })
      schedule()
    },
    pending: () => queue.length + inFlight,
    close: async () => {
      if (queue.length > 0 || inFlight > 0) {
        await Promise.race([
          new Promise<void>((resolve) => {
            onDrained = resolve
          }),
          pause(5_000)
        ])
      }
      closed = true
      await Promise.all(idle.map((client) => client?.end().catch(() => undefined)))
    }
  }
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
