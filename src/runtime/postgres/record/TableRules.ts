/**
 * What becomes of a table's rows in time: when they expire, how those of a deleted customer are erased, and whether they
 * count as storage. The rows of all tables say it; maintenance reads it from them.
 */

/** Conditions and statements of SQL. A condition is on the row `t`. */
export interface TableRules {
  /** Rows of which one of these holds are deleted. */
  readonly expires?: ReadonlyArray<string>
  /** Rows of which one of these holds are deleted with their customer. */
  readonly erases?: ReadonlyArray<string>
  /** What erases the rows of deleted customers instead, where deleting is not all. */
  readonly erasedBy?: ReadonlyArray<string>
  /** Before all that, and in transactions of its own: repeated while it returns `batchSize` rows. */
  readonly erasedInBatches?: string
  /** Its rows count as what their organisation stores, by the size in which they are stored. */
  readonly isStorage?: boolean
}

/** Rows that one statement deletes, so that it holds its locks for milliseconds only. */
export const batchSize = 1_000
/** Statements for one kind of rows in one pass; the next pass deletes the rest. */
export const maxBatches = 200

/** An interval of SQL. */
export const days = (n: number): string => `interval '${n} days'`

/** A journal's partition is dropped after ten days: then no journal refers to a secret's old value any more. */
export const journalLifetime = days(10)

/** Whether a row with an id of this prefix is so old. Ids sort by time, so the primary key finds the old rows. */
export const isOfAge = (prefix: string, age: string): string =>
  `t.id < '${prefix}_' || substr(svc_ulid_bound(now() - ${age}), 6)`

/** How long after a deletion. Maintenance runs every hour: one pass ends unfinished runs, a later one erases them, and one may be late. */
export const endRunsAfter = "interval '20 hours'"
export const eraseAfter = "interval '22 hours'"

/** The customers who were deleted so long ago. */
export const deletedBefore = (age: string): string => `SELECT id FROM customers WHERE deleted_at < now() - ${age}`
/** The customers whose rows are erased. */
export const erasableCustomers = deletedBefore(eraseAfter)
/** Workflows that belong to such a customer. */
export const erasableWorkflows = `SELECT w.id FROM workflows w WHERE w.customer_id IN (${erasableCustomers})`

/** Conditions on rows of customers and of workflows. */
export const ofErasableCustomer = `t.customer_id IN (${erasableCustomers})`
export const ofErasableWorkflow = `t.workflow_id IN (${erasableWorkflows})`
