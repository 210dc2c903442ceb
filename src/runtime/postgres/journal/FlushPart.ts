/**
 * A part of the statement of a flush: when a batch needs it, its text and the values of its parameters. What a noun writes
 * in a flush stands in the noun's own folder; `Statement` lists the parts in the order of their text.
 */
import type { RunChange } from "../../../actors/ports/run/Journal.js"
import type { Unit } from "./Unit.js"

/** Columns with their types in Postgres. */
export interface ColumnTypes {
  readonly [column: string]: string
}

/** A row as JSON: its values by column. */
export interface Row {
  readonly [column: string]: unknown
}

/** A unit with its rows serialised, before it enters the queue. */
export interface PreparedUnit {
  readonly unit: Unit
  /** The ids of its rows in the statement's list of changes: of its runs, else of its event. */
  readonly ids: ReadonlyArray<string>
  /** By table, each row as JSON, serialised once; the statement concatenates them. Tables without rows are absent. */
  readonly rows: { readonly [table: string]: ReadonlyArray<string> }
  /** Approximate number of characters that it adds to the statement. */
  readonly size: number
}

/** What one flush writes: at most one unit of each run and event. */
export interface Batch {
  readonly units: ReadonlyArray<PreparedUnit>
  /** The changes of all units' runs. */
  readonly runs: ReadonlyArray<RunChange>
  /** An earlier try may have committed it. */
  readonly isResend: boolean
}

/** Whether the statement contains a part. */
export type HasPart = (part: FlushPart) => boolean

/** Its text may depend on the other parts of the statement, and on nothing else: it is made once for each set of parts. */
export interface FlushPart {
  /** Whether the batch needs it; absent: each does. */
  readonly when?: (batch: Batch) => boolean
  /**
   * Its common table expressions. The rows of a change may be written where `ok` has the change's id. `next` takes the
   * part's next parameter: `$2`.
   */
  readonly text: (statement: { readonly has: HasPart; readonly next: () => string }) => ReadonlyArray<string>
  /** The values of its parameters, in the order in which `text` takes them. */
  readonly values?: (batch: Batch) => ReadonlyArray<unknown>
}

/** The rows of a JSON document in a parameter, as the table `t`. */
export const recordset = (parameter: string, columns: ColumnTypes): string =>
  `json_to_recordset(${parameter}::json) AS t(${Object.entries(columns)
    .map(([name, type]) => `${name} ${type}`)
    .join(", ")})`

/** What a part of rows consists of; `From`: runs or units. */
interface RowsPart<From> {
  readonly columns: ColumnTypes
  readonly from: (batch: Batch) => ReadonlyArray<From>
  /** Empty for those that the part does not concern. `nth`: the place in the batch. */
  readonly rows: (from: From, nth: number) => ReadonlyArray<Row>
  /** `t`: the rows, as a table of that name. */
  readonly text: (t: string, has: HasPart) => ReadonlyArray<string>
}

/** A part that the batch needs if there are rows for it. Its one parameter is their JSON. */
export const rowsPart = <From>({ columns, from, rows, text }: RowsPart<From>): FlushPart => ({
  when: (batch) => from(batch).some((item, nth) => rows(item, nth).length > 0),
  text: ({ has, next }) => text(recordset(next(), columns), has),
  values: (batch) => [JSON.stringify(from(batch).flatMap(rows))]
})

/** The same array for all runs and units that add nothing. */
export const noRows: ReadonlyArray<never> = []

/** Where the rows of a part come from. */
export const ofRuns = ({ runs }: Batch) => runs
/** The units of the batch. */
export const ofUnits = ({ units }: Batch) => units
