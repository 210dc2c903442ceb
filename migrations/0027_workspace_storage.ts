/** What organisations store in the databases of their workspaces counts as storage. */
import { script } from "./policies.js"

export default script(
  // Counted apart from `bytes`, on the server of the workspaces; while it is away the last count stays.
  "ALTER TABLE storage_usage ADD COLUMN workspace_bytes bigint NOT NULL DEFAULT 0"
)
