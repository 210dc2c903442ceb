/**
 * A place in the order of Postgres' commits, by which what was committed after it is found without a gap: a transaction
 * that began earlier and commits later is listed as open. It holds on every node and over restarts.
 */
import { Option } from "effect"

/** Transactions by their 64-bit ids, in decimal. */
export interface CommitPosition {
  /** No transaction with this id or a later one had committed. */
  readonly end: string
  /** Earlier ones that had not ended. */
  readonly open: ReadonlyArray<string>
}

/** Before every commit. */
export const firstPosition: CommitPosition = { end: "0", open: [] }

/** More transactions than Postgres runs at once. */
const mostOpen = 10_000

const pattern = /^\d{1,19}:(\d{1,19}):((?:\d{1,19}(?:,|$))*)$/
/** The ids are compared as numbers; no database has counted so far. */
const mostId = 2n ** 53n

const isId = (text: string): boolean => BigInt(text) < mostId

/** Reads the text form of `pg_snapshot`. None: it is not of that form. */
export const readPosition = (text: string): Option.Option<CommitPosition> => {
  const [, end, list = ""] = pattern.exec(text) ?? []
  if (end === undefined || list.endsWith(",")) return Option.none()
  const open = list === "" ? [] : list.split(",")
  if (open.length > mostOpen || ![end, ...open].every(isId)) return Option.none()
  return Option.some({ end, open })
}

/** As `readPosition` reads it. */
export const positionText = ({ end, open }: CommitPosition): string => `${open[0] ?? end}:${end}:${open.join(",")}`

/** Whether a transaction, which has committed by now, did so after the position. Ids up to 2^53 are exact. */
export const isAfter = ({ end, open }: CommitPosition, transaction: number): boolean =>
  transaction >= Number(end) || open.includes(String(transaction))

/**
 * Whether the position is one of another history: of a database that was restored from a dump, whose transactions are
 * counted anew.
 */
export const isBehind = (current: CommitPosition, earlier: CommitPosition): boolean =>
  BigInt(current.end) < BigInt(earlier.end)
