/** Triggers that a workflow in step form describes. */
import { script } from "./policies.js"

export default script(
  'ALTER TABLE triggers ADD COLUMN managed_by text COLLATE "C"',
  "CREATE UNIQUE INDEX triggers_managed ON triggers (managed_by, type) WHERE managed_by IS NOT NULL AND deleted_at IS NULL"
)
