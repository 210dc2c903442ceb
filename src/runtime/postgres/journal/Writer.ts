/**
 * Group commit, one writer per process. Changes queue up while two flushes are in flight; each flush takes every queued
 * change that it may, so batches grow with the load and no timer delays a single change.
 */
import type { Client } from "pg"
import { JournalUnavailable } from "../../../actors/ports/run/Journal.js"
import type { PreparedUnit } from "./FlushPart.js"
import { ChangeQueue, type QueuedChange } from "./ChangeQueue.js"
import { makeFlush, pause } from "./Flush.js"

export interface WriterOptions {
  readonly connectionString: string
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

const maxFlushes = 2

export const makeWriter = (options: WriterOptions): Writer => {
  const queue = new ChangeQueue()
  let inFlight = 0
  let changesInFlight = 0
  let isScheduled = false
  let isClosed = false
  const idleClients: Array<Client | undefined> = Array.from({ length: maxFlushes }, () => undefined)
  let onDrained: (() => void) | undefined

  const flush = makeFlush({ ...options, isClosed: () => isClosed })

  const startFlushes = () => {
    isScheduled = false
    while (inFlight < maxFlushes && queue.size > 0) {
      const items = queue.takeBatch()
      if (items.length === 0) return
      inFlight++
      changesInFlight += items.length
      void flush(idleClients.pop(), items, performance.now(), false).then((client) => {
        idleClients.push(client)
        inFlight--
        changesInFlight -= items.length
        queue.settle(items)
        if (queue.size > 0) schedule()
        else if (inFlight === 0) onDrained?.()
      })
    }
  }

  const schedule = () => {
    if (isScheduled) return
    isScheduled = true
    setImmediate(startFlushes)
  }

  return {
    write: (prepared, done) => {
      if (isClosed) return done(new JournalUnavailable({ reason: "the service is stopping" }))
      if (queue.size >= options.capacity)
        return done(new JournalUnavailable({ reason: "the queue of changes to write is full" }))
      queue.add({ ...prepared, done })
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
      isClosed = true
      await Promise.all(idleClients.map((client) => client?.end().catch(() => undefined)))
    }
  }
}
