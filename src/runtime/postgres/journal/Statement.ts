/**
 * The statement of a flush: writes everything of a batch of changes, fenced by the epochs of its runs and by the leases
 * of its events. It contains only the parts that the batch needs, and each combination of parts is one prepared
 * statement. Each table's rows are one JSON parameter, which costs half the CPU of array parameters.
 *
 * Existing rows are found by arrays of their ids, also where they are joined: a plan that was made while a table was short
 * would otherwise read all of it when it is long.
 */
import { freedLanes } from "../event/LaneParts.js"
import { closedApprovals } from "../run/ApprovalParts.js"
import { quotas } from "../quota/QuotaDecision.js"
import { tickFailures, ticks } from "../trigger/ScheduleParts.js"
import { acceptedChanges, signatures } from "./AcceptedChanges.js"
import { dequeuedRuns, endedRuns, patches } from "./ChangedRuns.js"
import type { Batch, FlushPart, HasPart, PreparedUnit } from "./FlushPart.js"
import { eventCounts, flushTables } from "./FlushTables.js"
import { deadLetters, settlements } from "./SettledEvents.js"

/** In the order of their text, which is that of their parameters. */
export const flushParts: ReadonlyArray<FlushPart> = [
  ...acceptedChanges,
  quotas,
  settlements,
  deadLetters,
  patches,
  ...flushTables,
  eventCounts,
  endedRuns,
  closedApprovals,
  dequeuedRuns,
  freedLanes,
  ticks,
  tickFailures
]

/** The text of the statement of these parts, and of those that every statement has. */
export const textOf = (chosen: HasPart): string => {
  let last = 0
  const next = () => `$${(last += 1)}`
  const has: HasPart = (part) => part.when === undefined || chosen(part)
  const ctes = flushParts.filter(has).flatMap((part) => part.text({ has, next }))
  // Another node took the id since this statement began: written again, the change takes no signature.
  const torn = has(signatures)
    ? " UNION ALL SELECT svc_repeat_flush() FROM signatures s WHERE s.target_id NOT IN (SELECT ok.id FROM ok)"
    : ""
  const refused = `SELECT ch.id FROM ch WHERE ch.id NOT IN (SELECT ok.id FROM ok)${torn}`
  const results = has(quotas)
    ? `SELECT r.id, false AS held FROM (${refused}) r UNION ALL SELECT beyond.id, true FROM beyond`
    : refused
  return `WITH ${ctes.join(",\n")}\n${results}`
}

export interface Statement {
  readonly name: string
  readonly text: string
  readonly values: ReadonlyArray<unknown>
}

/** Each part has a bit, so that a set of parts is a number. */
const partBits = flushParts.map((part, n) => ({ part, bit: 2 ** n }))

/**
 * Returns a function that makes the statement of a batch; it caches the text of each combination of parts. The
 * statement returns the ids of the changes that were not applied, and of the events that it holds.
 */
export const makeStatements = (): ((units: ReadonlyArray<PreparedUnit>, isResend: boolean) => Statement) => {
  const statements = new Map<number, { readonly name: string; readonly text: string }>()
  return (units, isResend) => {
    const batch: Batch = { units, runs: units.flatMap(({ unit }) => unit.runs), isResend }
    const values: Array<unknown> = []
    let set = 0
    for (const { bit, part } of partBits) {
      if (part.when !== undefined && !part.when(batch)) continue
      set += bit
      if (part.values !== undefined) values.push(...part.values(batch))
    }
    let found = statements.get(set)
    if (found === undefined) {
      const text = textOf((part) => part.when?.(batch) === true)
      found = { name: `svc_${set.toString(36)}`, text }
      statements.set(set, found)
    }
    return { ...found, values }
  }
}
