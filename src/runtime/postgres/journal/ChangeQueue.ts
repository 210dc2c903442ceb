/**
 * Changes that wait for a flush, in their order. Each batch has at most one change of each run, event, claim and dead
 * letter: the statement cannot tell which of two changes took a place in the queue, and would accept both.
 */
import type { AppendFailure } from "../../../actors/ports/run/Journal.js"
import type { PreparedUnit } from "./FlushPart.js"
import { claimKeys, claimOfUnit, settlementOf } from "./Unit.js"

export interface QueuedChange extends PreparedUnit {
  /** `isHeld`: the received event is held, since it is beyond its allowance. */
  readonly done: (failure: AppendFailure | undefined, isHeld?: boolean) => void
}

const maxBatchChanges = 500
/** Every later change waits while a batch is written and parsed. A larger change is written alone. */
const maxBatchCharacters = 1_000_000

/** What no two changes of a batch have in common. */
const keysOf = ({ ids, unit }: PreparedUnit): ReadonlyArray<string> => {
  const claim = claimOfUnit(unit)
  const settled = settlementOf(unit)?.eventId
  const letter = unit.event?.replays
  if (claim === undefined && settled === undefined && letter === undefined) return ids
  const keys: Array<string> = [...ids]
  if (settled !== undefined && settled !== ids[0]) keys.push(settled)
  if (letter !== undefined) keys.push(letter)
  if (claim !== undefined) for (const key of claimKeys(claim)) keys.push(`${unit.organisationId}|${claim.scope}|${key}`)
  return keys
}

export class ChangeQueue {
  private queue: Array<QueuedChange> = []
  /** What the changes that a flush is writing have in common with no others. */
  private readonly keysInFlight = new Set<string>()

  get size(): number {
    return this.queue.length
  }

  add(change: QueuedChange): void {
    this.queue.push(change)
  }

  /**
   * Takes the next batch, in the order of the changes, without those that have something in common with one that a flush
   * is writing. The caller must call `settle` when it is written.
   */
  takeBatch(): ReadonlyArray<QueuedChange> {
    const items: Array<QueuedChange> = []
    const rest: Array<QueuedChange> = []
    const passedKeys = new Set<string>()
    let size = 0
    for (const item of this.queue) {
      const keys = keysOf(item)
      const isFull = items.length >= maxBatchChanges || (items.length > 0 && size + item.size > maxBatchCharacters)
      if (isFull || keys.some((key) => this.keysInFlight.has(key) || passedKeys.has(key))) rest.push(item)
      else {
        size += item.size
        items.push(item)
      }
      for (const key of keys) passedKeys.add(key)
    }
    for (const item of items) this.mark(item, "add")
    this.queue = rest
    return items
  }

  /** The batch is written, or has failed: later changes of its runs may follow. */
  settle(items: ReadonlyArray<QueuedChange>): void {
    for (const item of items) this.mark(item, "delete")
  }

  private mark(item: QueuedChange, how: "add" | "delete"): void {
    for (const key of keysOf(item)) this.keysInFlight[how](key)
  }
}
