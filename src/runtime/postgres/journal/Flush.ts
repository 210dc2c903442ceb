/** Writes one batch of changes in one statement; resends it when its connection is lost, halves it when it is rejected. */
import { Duration } from "effect"
import { Client, DatabaseError } from "pg"
import { ChangeRefused } from "../../../actors/ports/run/Journal.js"
import { sessionName } from "../../process/ProcessName.js"
import { databaseConditionOf } from "../database/DatabaseConditions.js"
import { limitAnswers } from "../database/pool/AnswerLimit.js"
import type { OpenSockets } from "../database/pool/OpenSockets.js"
import { journalUnavailable, sqlStateOf } from "../database/DatabaseUnavailable.js"
import type { QueuedChange } from "./ChangeQueue.js"
import type { PreparedUnit } from "./FlushPart.js"
import { findHeld, findRefusal, isRejected, isRetryable, rejectionMessage } from "./RefusedChange.js"
import { makeStatements } from "./Statement.js"

/** How long a batch is resent after its connection is lost, or while Postgres refuses all work. */
const resendMillis = { lost: 10_000, refused: 1_000 }

export const pause = (millis: number) => new Promise<void>((resolve) => setTimeout(resolve, millis))

export interface FlushOptions {
  readonly connectionString: string
  /** The longest wait for a login. */
  readonly connectTimeout: Duration.Duration
  /** Makes the sockets of its connections. */
  readonly sockets?: OpenSockets["Type"] | undefined
  /** Called after each commit. */
  readonly onCommit: (changes: ReadonlyArray<PreparedUnit>) => void
  /** Whether the writer is closed: then a batch is not resent. */
  readonly isClosed: () => boolean
  /** Called with the code of each error that Postgres answers. */
  readonly onError: (sqlState: string) => void
}

/**
 * Writes the batch and reports each result. Takes an idle connection, if there is one, and returns the connection that
 * it used, or `undefined` if that is broken.
 */
export type Flush = (
  idleClient: Client | undefined,
  items: ReadonlyArray<QueuedChange>,
  startedAt: number,
  isResend: boolean
) => Promise<Client | undefined>

export const makeFlush = ({ isClosed, onCommit, onError, ...place }: FlushOptions): Flush => {
  const statementOf = makeStatements()

  const flush: Flush = async (idleClient, items, startedAt, isResend) => {
    let client = idleClient
    try {
      client ??= await connect(place)
      const { name, text, values } = statementOf(items, isResend)
      // Not decoded, since every commit waits for it: ids of the statement's own values.
      const { rows } = await client.query<{ id: string; held?: boolean }>({ name, text, values: [...values] })
      const idsOf = (isHeld: boolean) => new Set(rows.filter(({ held = false }) => held === isHeld).map(({ id }) => id))
      const heldIds = isResend ? await findHeld(client, items) : idsOf(true)
      await reportResults(client, items, { refused: idsOf(false), held: heldIds }, isResend)
      return client
    } catch (error) {
      if (error instanceof DatabaseError && error.code !== undefined) onError(error.code)
      if (isRejected(error)) return splitRejected(client, items, startedAt, error)
      if (!isRetryable(error)) void client?.end().catch(() => undefined)
      if (performance.now() - startedAt > patienceAfter(error) || isClosed()) {
        const failure = journalUnavailable(error)
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
    ids: { readonly refused: ReadonlySet<string>; readonly held: ReadonlySet<string> },
    isResend: boolean
  ): Promise<void> => {
    const committed: Array<QueuedChange> = []
    for (const item of items) {
      if (!item.ids.some((id) => ids.refused.has(id))) {
        committed.push(item)
        continue
      }
      const failure = await findRefusal(client, item.unit, isResend)
      if (failure === undefined) committed.push(item)
      else item.done(failure)
    }
    for (const item of committed) item.done(undefined, item.ids.length === 1 && ids.held.has(item.ids[0] ?? ""))
    onCommit(committed)
  }

  return flush
}

const patienceAfter = (error: unknown): number =>
  databaseConditionOf(sqlStateOf(error) ?? "")?.refusesAll === true ? resendMillis.refused : resendMillis.lost

/** The plans of prepared statements are kept. Those of a short table must also suit a long one. */
export const planSettings = "SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan; SET jit = off"

export const connect = async ({
  connectionString,
  connectTimeout,
  sockets
}: Pick<FlushOptions, "connectionString" | "connectTimeout" | "sockets">): Promise<Client> => {
  const client = new Client({
    connectionString,
    application_name: sessionName("svc journal"),
    ...(sockets === undefined ? {} : { stream: sockets.open }),
    keepAlive: true,
    connectionTimeoutMillis: Duration.toMillis(connectTimeout)
  })
  // The next flush finds out that a connection was lost.
  client.on("error", () => undefined)
  await client.connect()
  limitAnswers(client)
  await client.query(planSettings)
  return client
}
