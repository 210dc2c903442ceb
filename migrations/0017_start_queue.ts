/** What waits to start stands in a queue: its table is called so. */
import { script } from "./policies.js"

export default script(
  "ALTER TABLE outbox RENAME TO start_queue",
  "ALTER INDEX outbox_order RENAME TO start_queue_order"
)
