/**
 * Group commit, one writer per process. A flush has a fixed cost: that of the changes of one or two runs. So that it holds
 * more, it begins only when a few turns of the event loop have brought no further change. Under load batches grow; a single
 * change after a single one waits for nothing.
 */
import type { Duration } from "effect"
import type { Client } from "pg"
import { JournalUnavailable } from "../../../actors/ports/run/Journal.js"
import type { PreparedUnit } from "./FlushPart.js"
import { ChangeQueue, type QueuedChange } from "./ChangeQueue.js"
import type { OpenSockets } from "../database/pool/OpenSockets.js"
import { connect, makeFlush, pause } from "./Flush.js"

export interface WriterOptions {
  readonly connectionString: string
  /** The longest wait for a login. */
  readonly connectTimeout: Duration.Duration
  /** Makes the sockets of its connections. */
  readonly sockets?: OpenSockets["Type"] | undefined
  /** Changes that may be queued; further ones fail with `JournalUnavailable`. */
  readonly capacity: number
  /** Called after each commit. */
  readonly onCommit: (changes: ReadonlyArray<PreparedUnit>) => void
  /** Called with the code of each error that Postgres answers. */
  readonly onError: (sqlState: string) => void
}

export interface Writer {
  readonly write: (prepared: PreparedUnit, done: QueuedChange["done"]) => void
  /** The number of changes that are not yet committed. */
  readonly pending: () => number
  readonly close: () => Promise<void>
}

/** The second one only beside a flush that takes long. */
const maxFlushes = 2
/** Turns of the event loop without a change, after which a flush begins; fewer if the last flush had fewer changes. */
const quietTurns = 4
/** The longest that a change waits for others, in milliseconds. */
const gatherMillis = 8

export const makeWriter = (options: WriterOptions): Writer => {
  const queue = new ChangeQueue()
  let inFlight = 0
  let changesInFlight = 0
  /** The number of changes of the last flush. */
  let lastBatch = 1
  let isGathering = false
  /** A sender waits for the answer to an event that is queued: the next flush begins at the end of the turn. */
  let isAwaited = false
  /** Begins a second flush beside one that takes long. */
  let besideSlow: NodeJS.Timeout | undefined
  let isClosed = false
  const idleClients: Array<Client | undefined> = Array.from({ length: maxFlushes }, () => undefined)
  /** Is being opened. */
  let opening: Promise<void> | undefined
  let onDrained: (() => void) | undefined

  const flush = makeFlush({ ...options, isClosed: () => isClosed })

  /** What fails here is tried again by the next flush, which tells of it. */
  const open = (): void => {
    opening ??= connect(options)
      .then(
        async (client) => {
          const free = isClosed ? -1 : idleClients.indexOf(undefined)
          if (free === -1) return client.end().catch(() => undefined)
          idleClients.splice(free, 1)
          idleClients.push(client)
          if (queue.size > 0) schedule()
        },
        () => undefined
      )
      .finally(() => {
        opening = undefined
      })
  }

  const startFlush = () => {
    isGathering = false
    clearTimeout(besideSlow)
    besideSlow = undefined
    if (inFlight === maxFlushes) return
    // Changes would wait for the connection longer than for the flush that takes long.
    if (inFlight > 0 && idleClients.at(-1) === undefined) return open()
    isAwaited = false
    const items = queue.takeBatch()
    if (items.length === 0) return
    lastBatch = items.length
    inFlight++
    changesInFlight += items.length
    void flush(idleClients.pop(), items, performance.now(), false).then((client) => {
      if (client === undefined) idleClients.unshift(client)
      else idleClients.push(client)
      inFlight--
      changesInFlight -= items.length
      queue.settle(items)
      if (queue.size > 0) schedule()
      else if (inFlight === 0) onDrained?.()
    })
    if (queue.size > 0) schedule()
  }

  /** Begins a flush once turns of the event loop bring no further changes. */
  const gather = (since: number, before: number, emptyTurns: number) => {
    const { size } = queue
    const quiet = size > before ? 0 : emptyTurns + 1
    if (isAwaited || quiet >= Math.min(quietTurns, lastBatch) || performance.now() - since >= gatherMillis) startFlush()
    else setImmediate(gather, since, size, quiet)
  }

  /** Changes gather until the flush in flight ends, or takes long; without one, as long as turns bring further ones. */
  const schedule = () => {
    if (isGathering) return
    if (inFlight > 0) {
      besideSlow ??= setTimeout(startFlush, gatherMillis)
      return
    }
    clearTimeout(besideSlow)
    besideSlow = undefined
    isGathering = true
    setImmediate(gather, performance.now(), queue.size, 0)
  }

  // The first change waits for no login.
  open()
  return {
    write: (prepared, done) => {
      if (isClosed) return done(new JournalUnavailable({ reason: "the service is stopping" }))
      if (queue.size >= options.capacity)
        return done(new JournalUnavailable({ reason: "the queue of changes to write is full" }))
      queue.add({ ...prepared, done })
      const { event } = prepared.unit
      isAwaited ||= event?.receives !== undefined || event?.records !== undefined
      schedule()
    },
    pending: () => queue.size + changesInFlight,
    close: async () => {
      if (queue.size > 0 || inFlight > 0) {
        await Promise.race([
          new Promise<void>((resolve) => {
            onDrained = resolve
          }),
          pause(5_000)
        ])
      }
      // A login that is under way ends by itself: nothing waits for it any more.
      isClosed = true
      await Promise.all(idleClients.map((client) => client?.end().catch(() => undefined)))
    }
  }
}
