/** A run says from where it takes the answers of connectors: a list tells mocked runs from real ones. */
import { script } from "./policies.js"

export default script(
  "ALTER TABLE runs ADD COLUMN mock text NOT NULL DEFAULT 'none'",
  "ALTER TABLE executions ADD COLUMN mock text NOT NULL DEFAULT 'none'"
)
