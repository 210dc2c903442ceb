/**
 * The fence: only the owner of a run writes for it. The owner is the node that raised the run's epoch last, and every
 * write carries the epoch of its writer. No other file of `src/runtime` compares epochs.
 */

/**
 * A query for those of the runs `ids` whose epoch is still the one at the same place in `epochs`. It locks their rows
 * until the transaction ends.
 *
 * Guarantee: no node takes over a selected run before the transaction ends, and the write of a former owner selects
 * nothing. So whatever a new owner reads of its run is final. Rows are locked in the order of their ids, so that two
 * batches never wait for each other.
 *
 * No join with the parameters: its plan reads all of a small table, and costs twice the time.
 */
export const selectOwned = (ids: string, epochs: string): string =>
  `SELECT r.id FROM runs r
   WHERE r.id = ANY(${ids}::text[]) AND r.epoch = (${epochs}::int[])[array_position(${ids}::text[], r.id)]
   ORDER BY r.id FOR NO KEY UPDATE OF r`

/** Updates the runs `$1` that their writers, of the epochs `$2`, still own; `assignments` may use `$3` and later ones. */
export const updateOwned = (assignments: string): string =>
  `WITH owned AS (${selectOwned("$1", "$2")}) UPDATE runs SET ${assignments} FROM owned WHERE runs.id = owned.id`

/** Assignment of an UPDATE that makes its caller the owner. It waits for the locks of `selectOwned`. */
export const raiseEpoch = (run: string): string => `epoch = ${run}.epoch + 1`

/**
 * Whether a writer of the epoch `$3` has written row `$2` of the journal of run `$1`: tells that a flush that is sent
 * again had committed already.
 */
export const selectAppended = "SELECT 1 FROM journal WHERE id = $1 AND seq = $2 AND epoch = $3"
