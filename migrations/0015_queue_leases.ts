/** Removes leases from the run queue: the statement that starts a run deletes its row. */
import { script } from "./policies.js"

export default script("ALTER TABLE outbox DROP COLUMN claimed_by, DROP COLUMN claimed_until")
