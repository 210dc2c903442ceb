/**
 * Group commit, one writer per process. Changes queue up while two flushes are in flight; each flush takes every queued
 * change that it may, so batches grow with the load and no timer delays a single change.
 */
import { describe } from "../../telemetry/SafeError.js"
import { Client } from "pg"
import { type AppendFailure, ChangeRefused, JournalUnavailable } from "../../../actors/ports/Journal.js"
import { makeBatch, type PreparedChange } from "./Batch.js"
import { findRefusal, isRejected, isRetryable, rejectionMessage } from "./RefusedChange.js"
import { makeStatements } from "./Statement.js"

interface QueuedChange extends PreparedChange {
  readonly done: (failure: AppendFailure | undefined) => void
}

export interface WriterOptions {
  readonly connectionString: string
  /** Changes that may be queued; further ones fail with `JournalUnavailable`. */
  readonly capacity: number
  /** Called after each commit. */
  readonly onCommit: (changes: ReadonlyArray<PreparedChange>) => void
}

export interface Writer {
  readonly write: (prepared: PreparedChange, done: (failure: AppendFailure | undefined) => void) => void
  /** The number of queued changes and flushes in flight. */
  readonly pending: () => number
  readonly close: () => Promise<void>
}

const maxFlushes = 2
const maxBatchChanges = 500
/** Every later change waits while a batch is written and parsed. A larger change is written alone. */
const maxBatchCharacters = 1_000_000
/** How long a batch is resent after its connection is lost. */
const resendMillis = 10_000

const claimKey = ({ change }: PreparedChange): string | undefined =>
  change.claim === undefined ? undefined : `${change.organisationId}|${change.claim.scope}|${change.claim.key}`

const pause = (millis: number) => new Promise<void>((resolve) => setTimeout(resolve, millis))

export const makeWriter = (options: WriterOptions): Writer => {
  let queue: Array<QueuedChange> = []
  const statementOf = makeStatements()
  /** The runs and claims that a flush is writing. */
  const keysInFlight = new Set<string>()
  let inFlight = 0
  let isScheduled = false
  let isClosed = false
  const idleClients: Array<Client | undefined> = Array.from({ length: maxFlushes }, () => undefined)
  let onDrained: (() => void) | undefined

  const connect = async (): Promise<Client> => {
    const client = new Client({
      connectionString: options.connectionString,
      application_name: "svc-journal",
      keepAlive: true,
      connectionTimeoutMillis: 5_000
    })
    // The next flush finds out that a connection was lost.
    client.on("error", () => undefined)
    await client.connect()
    return client
  }

  // --- Batching ---

  /**
   * Takes a batch from the queue: at most one change of each run and claim, in their order, and none that is in flight.
   */
  const takeBatch = (): ReadonlyArray<QueuedChange> => {
    const items: Array<QueuedChange> = []
    const rest: Array<QueuedChange> = []
    const passedKeys = new Set<string>()
    let size = 0
    for (const item of queue) {
      const keys = [item.change.id, claimKey(item) ?? item.change.id]
      const isFull = items.length >= maxBatchChanges || (items.length > 0 && size + item.size > maxBatchCharacters)
      if (isFull || keys.some((key) => keysInFlight.has(key) || passedKeys.has(key))) rest.push(item)
      else {
        size += item.size
        items.push(item)
      }
      for (const key of keys) passedKeys.add(key)
    }
    for (const item of items) markInFlight(item, "add")
    queue = rest
    return items
  }

  const markInFlight = (item: QueuedChange, how: "add" | "delete") => {
    keysInFlight[how](item.change.id)
    const key = claimKey(item)
    if (key !== undefined) keysInFlight[how](key)
  }

  const startFlushes = () => {
    isScheduled = false
    while (inFlight < maxFlushes && queue.length > 0) {
      const items = takeBatch()
      if (items.length === 0) return
      inFlight++
      void flush(idleClients.pop(), items, performance.now(), false).then((client) => {
        idleClients.push(client)
        inFlight--
        for (const item of items) markInFlight(item, "delete")
        if (queue.length > 0) schedule()
        else if (inFlight === 0) onDrained?.()
      })
    }
  }

  const schedule = () => {
    if (isScheduled) return
    isScheduled = true
    setImmediate(startFlushes)
  }

  // --- Writing ---

  /** Writes the batch and reports each result. Returns the connection, or `undefined` if it is broken. */
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
      const refusedIds = new Set(result.rows.map((row) => row.id))
      await reportResults(client, items, refusedIds, isResend)
      return client
    } catch (error) {
      if (isRejected(error)) return splitRejected(client, items, startedAt, error)
      if (!isRetryable(error)) void client?.end().catch(() => undefined)
      if (performance.now() - startedAt > resendMillis || isClosed) {
        const failure = new JournalUnavailable({ reason: describe(error) })
        for (const item of items) item.done(failure)
        return undefined
      }
      await pause(isRetryable(error) ? 5 : 100)
      return flush(isRetryable(error) ? client : undefined, items, startedAt, true)
    }
  }

  /** Halves a batch that Postgres rejects until the change that it rejects is alone, so that the others commit. */
  const splitRejected = async (
    client: Client | undefined,
    items: ReadonlyArray<QueuedChange>,
    startedAt: number,
    error: unknown
  ): Promise<Client | undefined> => {
    const [only] = items
    if (items.length === 1 && only !== undefined) {
      only.done(new ChangeRefused({ reason: rejectionMessage(error) }))
      return client
    }
    const middle = Math.ceil(items.length / 2)
    const next = await flush(client, items.slice(0, middle), startedAt, true)
    return flush(next, items.slice(middle), startedAt, true)
  }

  const reportResults = async (
    client: Client,
    items: ReadonlyArray<QueuedChange>,
    refusedIds: ReadonlySet<string>,
    isResend: boolean
  ): Promise<void> => {
    const committed: Array<QueuedChange> = []
    for (const item of items) {
      if (!refusedIds.has(item.change.id)) {
        committed.push(item)
        continue
      }
      const failure = await findRefusal(client, item.change, isResend)
      if (failure === undefined) committed.push(item)
      else item.done(failure)
    }
    for (const item of committed) item.done(undefined)
    options.onCommit(committed)
  }

  return {
    write: (prepared, done) => {
      if (isClosed) return done(new JournalUnavailable({ reason: "the service is stopping" }))
      if (queue.length >= options.capacity)
        return done(new JournalUnavailable({ reason: "the queue of changes to write is full" }))
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
      isClosed = true
      await Promise.all(idleClients.map((client) => client?.end().catch(() => undefined)))
    }
  }
}
