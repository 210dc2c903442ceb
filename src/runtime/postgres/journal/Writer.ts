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
import { batch, type Prepared } from "./Rows.js"
import { makeStatements } from "./Statement.js"

interface Waiter extends Prepared {
  readonly done: (failure: AppendFailure | undefined) => void
}

export interface WriterOptions {
  readonly connectionString: string
  /** Changes that may wait; one more is refused. */
  readonly capacity: number
  /** Told after each commit. */
  readonly committed: (changes: ReadonlyArray<Prepared>) => void
}

export interface Writer {
  readonly write: (prepared: Prepared, done: (failure: AppendFailure | undefined) => void) => void
  /** Changes that wait or are in flight. */
  readonly pending: () => number
  readonly close: () => Promise<void>
}

const flushes = 2
const batchChanges = 500
const batchCharacters = 8_000_000
/** A batch whose connection is lost is sent again for this long. */
const resendMillis = 10_000

const claimKey = ({ change }: Prepared): string | undefined =>
  change.claim === undefined ? undefined : `${change.organisationId}|${change.claim.scope}|${change.claim.key}`

const sqlState = (error: unknown): string => (error instanceof DatabaseError ? (error.code ?? "") : "")
/** Postgres judged the statement; anything else means that the connection failed and the outcome is unknown. */
const isJudged = (error: unknown): boolean => /^(2[0-9A-Z]|3|4[24]|5[45]|XX|P0)/.test(sqlState(error))
const isRetryable = (error: unknown): boolean => sqlState(error).startsWith("40")

const pause = (millis: number) => new Promise<void>((resolve) => setTimeout(resolve, millis))

export const makeWriter = (options: WriterOptions): Writer => {
  let waiting: Array<Waiter> = []
  const statementOf = makeStatements()
  /** Runs and claims that a flush is writing. */
  const flying = new Set<string>()
  let inFlight = 0
  let scheduled = false
  let closed = false
  const idle: Array<Client | undefined> = Array.from({ length: flushes }, () => undefined)
  let drained: (() => void) | undefined

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
  const take = (): ReadonlyArray<Waiter> => {
    const taken: Array<Waiter> = []
    const left: Array<Waiter> = []
    const passed = new Set<string>()
    let size = 0
    for (const item of waiting) {
      const keys = [item.change.id, claimKey(item) ?? item.change.id]
      const full = taken.length >= batchChanges || (taken.length > 0 && size + item.size > batchCharacters)
      if (full || keys.some((key) => flying.has(key) || passed.has(key))) left.push(item)
      else {
        size += item.size
        taken.push(item)
      }
      for (const key of keys) passed.add(key)
    }
    for (const item of taken) land(item, "add")
    waiting = left
    return taken
  }

  const land = (item: Waiter, how: "add" | "delete") => {
    flying[how](item.change.id)
    const key = claimKey(item)
    if (key !== undefined) flying[how](key)
  }

  const pump = () => {
    scheduled = false
    while (inFlight < flushes && waiting.length > 0) {
      const items = take()
      if (items.length === 0) return
      inFlight++
      void flush(idle.pop(), items, performance.now(), false).then((client) => {
        idle.push(client)
        inFlight--
        for (const item of items) land(item, "delete")
        if (waiting.length > 0) schedule()
        else if (inFlight === 0) drained?.()
      })
    }
  }

  const schedule = () => {
    if (scheduled) return
    scheduled = true
    setImmediate(pump)
  }

  // --- Writing ---

  /** Writes the batch and answers everyone in it; gives back the connection, or nothing when it is broken. */
  const flush = async (
    held: Client | undefined,
    items: ReadonlyArray<Waiter>,
    since: number,
    resent: boolean
  ): Promise<Client | undefined> => {
    let client = held
    try {
      client ??= await connect()
      const { name, text, values } = statementOf(batch(items))
      const result = await client.query<{ id: string }>({ name, text, values: [...values] })
      const refused = new Set(result.rows.map((row) => row.id))
      await answer(client, items, refused, resent)
      return client
    } catch (error) {
      if (isJudged(error)) return judged(client, items, since, error)
      if (!isRetryable(error)) void client?.end().catch(() => undefined)
      if (performance.now() - since > resendMillis || closed) {
        const failure = new JournalUnavailable({ reason: describe(error) })
        for (const item of items) item.done(failure)
        return undefined
      }
      await pause(isRetryable(error) ? 5 : 100)
      return flush(isRetryable(error) ? client : undefined, items, since, true)
    }
  }

  /** A statement that Postgres refuses is halved until the change that it refuses is alone. */
  const judged = async (
    client: Client | undefined,
    items: ReadonlyArray<Waiter>,
    since: number,
    error: unknown
  ): Promise<Client | undefined> => {
    const [first] = items
    if (items.length === 1 && first !== undefined) {
      first.done(new ChangeRefused({ reason: reasonOf(error) }))
      return client
    }
    const middle = Math.ceil(items.length / 2)
    const next = await flush(client, items.slice(0, middle), since, true)
    return flush(next, items.slice(middle), since, true)
  }

  const answer = async (
    client: Client,
    items: ReadonlyArray<Waiter>,
    refused: ReadonlySet<string>,
    resent: boolean
  ): Promise<void> => {
    const committed: Array<Waiter> = []
    for (const item of items) {
      if (!refused.has(item.change.id)) {
        committed.push(item)
        continue
      }
      const failure = await whyRefused(client, item, resent)
      if (failure === undefined) committed.push(item)
      else item.done(failure)
    }
    for (const item of committed) item.done(undefined)
    options.committed(committed)
  }

  /** A refused change: another's claim, another incarnation, or, sent again, one that had committed already. */
  const whyRefused = async (
    client: Client,
    { change }: Waiter,
    resent: boolean
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
    if (resent && (await wasCommitted(client, { change }))) return undefined
    return new Fenced({ id: change.id })
  }

  const wasCommitted = async (client: Client, { change }: Pick<Waiter, "change">): Promise<boolean> => {
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
      if (waiting.length >= options.capacity)
        return done(new JournalUnavailable({ reason: "too many changes wait to be written" }))
      waiting.push({ ...prepared, done })
      schedule()
    },
    pending: () => waiting.length + inFlight,
    close: async () => {
      if (waiting.length > 0 || inFlight > 0) {
        await Promise.race([
          new Promise<void>((resolve) => {
            drained = resolve
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
