/** Versions of workspaces for optimistic concurrency: a client changes the version that it read. */
import { script } from "./policies.js"

export default script(
  "ALTER TABLE workspaces ADD COLUMN updated_at timestamptz NOT NULL DEFAULT now()",
  "ALTER TABLE workspaces ADD COLUMN version int NOT NULL DEFAULT 1"
)
