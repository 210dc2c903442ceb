/** What the database refuses for a cause that its operator must remove, for example because its disk is full. */
import { Context, type Effect } from "effect"

/** A condition in which the database refuses work. */
export interface DatabaseCondition {
  readonly name: string
  /** What is wrong, for clients and operators. */
  readonly cause: string
  readonly remedy: string
  /** Whether no work can be accepted meanwhile; else single statements fail. */
  readonly refusesAll: boolean
}

/** A condition that lasts. Times are Unix milliseconds. */
export interface OngoingTrouble {
  readonly condition: DatabaseCondition
  /** The code of the last refusal (SQLSTATE); `null` if only the server's log named it. */
  readonly sqlState: string | null
  readonly since: number
  readonly lastAt: number
  /** Refused statements and connections. */
  readonly refusals: number
}

/** Conditions of the database that refuse work, from their first error until a probe finds them over. */
export interface TroubleRegistry {
  /** Counts an error of the server, by its code (SQLSTATE). */
  readonly note: (sqlState: string) => void
  /** Counts what the log of a server that ended tells of. */
  readonly noteLog: (text: string) => void
  readonly ongoing: () => ReadonlyArray<OngoingTrouble>
  /** Errors of the server by code (SQLSTATE), since the start. */
  readonly errors: () => ReadonlyMap<string, number>
  /** The conditions that were last met before `lastAt` are over. */
  readonly clear: (lastAt: number) => Effect.Effect<void>
}

export class DatabaseTrouble extends Context.Tag("svc/DatabaseTrouble")<DatabaseTrouble, TroubleRegistry>() {}
