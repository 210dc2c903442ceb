/**
 * Audit entries that are written with no transaction of their own: collected in memory and inserted in batches, reads
 * and refusals counted by the minute.
 */
import type { Sql } from "../postgres/database/Sql.js"
import { Clock, Effect } from "effect"
import type { AuditEntry } from "../../domain/audit/Audit.js"
import { refusalLimits } from "../../domain/Limits.js"
import { auditRow, insertAuditRows } from "../postgres/AuditRow.js"

const mostWaiting = 50_000

/** Reads with the same key are counted in one entry. */
const readKey = ({ action, actor, organisationId, resource }: AuditEntry) =>
  [organisationId, actor.id, action, resource.type, resource.id].join("|")

/** Refusals with the same key are counted in one entry. */
const refusalKey = ({ action, actor, changes, organisationId, outcome }: AuditEntry) =>
  ["refusal", organisationId, actor.id, actor.ip, action, outcome, JSON.stringify(changes[0]?.after ?? null)].join("|")

const unlisted = "other addresses"

/** Entries that are not yet written. */
export interface AuditBuffer {
  waiting: Array<AuditEntry>
  /** Reads and refusals of this minute, by what is counted together. */
  counted: Map<string, AuditEntry>
  /** How many entries of refusals each actor has in this minute. */
  refused: Map<string, number>
  minute: number
}

export const emptyBuffer = (): AuditBuffer => ({ waiting: [], counted: new Map(), refused: new Map(), minute: 0 })

/** Whether anything is to be written. */
export const hasEntries = ({ counted, waiting }: AuditBuffer): boolean => waiting.length > 0 || counted.size > 0

const insert = (writer: Sql, entries: ReadonlyArray<AuditEntry>) =>
  writer.unsafe(`${insertAuditRows("$1")} ON CONFLICT (id) DO NOTHING`, [
    JSON.stringify(entries.map((entry) => auditRow(entry)))
  ])

/** Queues the counts of a minute that has ended; with `all` also those of the current one. */
export const closeMinute = (buffer: AuditBuffer, all: boolean) =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    const current = Math.floor(now / 60_000)
    if (!all && current === buffer.minute) return
    buffer.minute = current
    buffer.waiting.push(...buffer.counted.values())
    buffer.counted = new Map()
    buffer.refused = new Map()
  })

/** Writes the waiting entries; they wait again if that fails. */
export const flush = Effect.fnUntraced(function* (buffer: AuditBuffer, writer: Sql) {
  const entries = buffer.waiting
  if (entries.length === 0) return
  buffer.waiting = []
  yield* Effect.tapError(insert(writer, entries), () =>
    Effect.sync(() => {
      buffer.waiting = [...entries, ...buffer.waiting].slice(0, mostWaiting)
    })
  )
})

/** Queues an entry, unless too many wait. */
export const append = ({ waiting }: AuditBuffer, entry: AuditEntry): void => {
  if (waiting.length < mostWaiting) waiting.push(entry)
}

/** Counts an entry with those of the same key; returns whether it is the first of this minute. */
const count = (buffer: AuditBuffer, key: string, entry: AuditEntry): boolean => {
  if (buffer.counted.size === 0) buffer.minute = Math.floor(Date.parse(entry.at) / 60_000)
  const before = buffer.counted.get(key)
  buffer.counted.set(key, before === undefined ? entry : { ...before, count: before.count + 1 })
  return before === undefined
}

export const countRead = (buffer: AuditBuffer, entry: AuditEntry): void => void count(buffer, readKey(entry), entry)

/** Counts a refusal under its address, for a limited number of addresses of each actor. */
export const countRefusal = (buffer: AuditBuffer, entry: AuditEntry): void => {
  const listed = buffer.refused.get(entry.actor.id) ?? 0
  const shown =
    listed < refusalLimits.auditedAddresses || buffer.counted.has(refusalKey(entry))
      ? entry
      : { ...entry, actor: { ...entry.actor, ip: unlisted, userAgent: null } }
  if (count(buffer, refusalKey(shown), shown)) buffer.refused.set(entry.actor.id, listed + 1)
}
