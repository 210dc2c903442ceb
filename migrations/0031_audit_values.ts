/** The values of customers' audit entries, sealed under a key of the customer; the entry has their commitments. */
import { script } from "./policies.js"

export default script(`ALTER TABLE audit_entries ADD COLUMN sealed bytea`)
