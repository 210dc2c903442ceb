/**
 * The fence: only the owner of a run writes to it. The owner is the node that raised the run's epoch last, and every
 * write carries its writer's epoch. No other file of `src/runtime` compares epochs.
 */

/**
 * Selects the runs among `ids` whose epoch is still the one at the same position in `epochs`, and locks their rows
 * until the transaction ends.
 *
 * Guarantee: no node takes over a selected run before the transaction ends, and the write of a former owner selects no
 * row. So what a new owner reads of its run is final. Rows are locked in the order of their ids, so that two batches
 * never deadlock.
 *
 * It does not join the parameters: that plan scans a small table whole and takes twice the time.
 */
export const selectOwned = (ids: string, epochs: string): string =>
  `SELECT r.id FROM runs r
   WHERE r.id = ANY(${ids}::text[]) AND r.epoch = (${epochs}::int[])[array_position(${ids}::text[], r.id)]
   ORDER BY r.id FOR NO KEY UPDATE OF r`

/** Updates those of the runs `$1` whose epochs are still `$2`; `assignments` may use `$3` and later parameters. */
export const updateOwned = (assignments: string): string =>
  `WITH owned AS (${selectOwned("$1", "$2")}) UPDATE runs SET ${assignments} FROM owned WHERE runs.id = owned.id`

/** The assignment of an UPDATE that makes its caller the owner. The UPDATE waits for the locks of `selectOwned`. */
export const raiseEpoch = (run: string): string => `epoch = ${run}.epoch + 1`

/**
 * Whether a writer of epoch `$3` has written row `$2` of run `$1`'s journal: finds out whether a flush that is resent
 * had committed.
 */
export const selectAppended = "SELECT 1 FROM journal WHERE id = $1 AND seq = $2 AND epoch = $3"
