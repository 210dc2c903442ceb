/** Renames the table of the runs that wait to start to `start_queue`. */
import { script } from "./policies.js"

export default script(
  "ALTER TABLE outbox RENAME TO start_queue",
  "ALTER INDEX outbox_order RENAME TO start_queue_order"
)
