/**
 * An index by time of the rows that wait in the start queue: whether any of them may start is one look-up, however many
 * wait for a later time.
 */
import { script } from "./policies.js"

export default script(
  "CREATE INDEX start_queue_times ON start_queue (not_before) WHERE NOT held AND claimed_by IS NULL"
)
