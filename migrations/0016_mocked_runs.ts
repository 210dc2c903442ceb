/** Records whether connectors answer a run with mocks, so that lists distinguish mocked runs from real ones. */
import { script } from "./policies.js"

export default script(
  "ALTER TABLE runs ADD COLUMN mock text NOT NULL DEFAULT 'none'",
  "ALTER TABLE executions ADD COLUMN mock text NOT NULL DEFAULT 'none'"
)
