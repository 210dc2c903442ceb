/** A row of the run queue is deleted by the statement that starts its run: it is never leased. */
import { script } from "./policies.js"

export default script("ALTER TABLE outbox DROP COLUMN claimed_by, DROP COLUMN claimed_until")
