/** Workflows as steps: the place of a call in its step, the path of a step, and what a flow's draft and version say. */
import { script } from "./policies.js"

export default script(
  "ALTER TABLE journal ADD COLUMN place text",
  "ALTER TABLE steps ADD COLUMN path text",
  // A flow that waits for people or time runs as Long; a draft may be kept with its mistakes.
  "ALTER TABLE workflows ADD COLUMN waits boolean NOT NULL DEFAULT false, ADD COLUMN problems json NOT NULL DEFAULT '[]'",
  "ALTER TABLE draft_snapshots ADD COLUMN waits boolean NOT NULL DEFAULT false",
  "ALTER TABLE workflow_versions ADD COLUMN waits boolean NOT NULL DEFAULT false"
)
