/** The author of a workflow's draft, and earlier states of drafts, which can be restored. */
import { Effect } from "effect"
import { script, tenantTable } from "./policies.js"

const tables = script(
  "ALTER TABLE workflows ADD COLUMN draft_updated_by text NOT NULL DEFAULT ''",
  "UPDATE workflows SET draft_updated_by = created_by",
  // number: the workflow's version while the draft had this state.
  `CREATE TABLE workflow_drafts (
     org text COLLATE "C" NOT NULL, workflow_id text COLLATE "C" NOT NULL REFERENCES workflows, number int NOT NULL,
     form text NOT NULL, source text, spec jsonb, input_contract jsonb, output_contract jsonb, content_hash text NOT NULL,
     problem_count int NOT NULL, saved_by text NOT NULL, saved_at timestamptz NOT NULL,
     replaced_by text NOT NULL, replaced_at timestamptz NOT NULL, PRIMARY KEY (workflow_id, number))`,
  "CREATE INDEX workflow_drafts_replaced ON workflow_drafts (replaced_at)"
)

export default Effect.zipRight(
  tables,
  tenantTable("workflow_drafts", { app: "SELECT, INSERT, DELETE", writer: "SELECT, DELETE" })
)
