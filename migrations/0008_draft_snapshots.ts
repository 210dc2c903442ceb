/** The code of drafts that were run, so that such a run can be repeated after the draft has changed. */
import { Effect } from "effect"
import { script, tenantTable } from "./policies.js"

const tables = script(
  `CREATE TABLE draft_snapshots (
     org text COLLATE "C" NOT NULL, workflow_id text COLLATE "C" NOT NULL REFERENCES workflows, content_hash text NOT NULL,
     script text NOT NULL, input_contract jsonb, output_contract jsonb, bindings jsonb NOT NULL,
     kept_until timestamptz NOT NULL, PRIMARY KEY (workflow_id, content_hash))`,
  `CREATE INDEX draft_snapshots_kept ON draft_snapshots (kept_until)`
)

export default Effect.zipRight(
  tables,
  tenantTable("draft_snapshots", { app: "", writer: "SELECT, INSERT, UPDATE, DELETE" })
)
