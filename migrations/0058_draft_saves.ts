/** The last save of each person and draft that has an entry in the audit trail: further ones of the same minute have none. */
import { Effect } from "effect"
import { script, tenantTable } from "./policies.js"

export default Effect.zipRight(
  script(
    // members: those that the entry tells of.
    `CREATE TABLE draft_saves (
       workflow_id text COLLATE "C" NOT NULL REFERENCES workflows ON DELETE CASCADE, actor_id text COLLATE "C" NOT NULL,
       org text COLLATE "C" NOT NULL, at timestamptz NOT NULL, members text[] NOT NULL, PRIMARY KEY (workflow_id, actor_id))`,
    "CREATE INDEX draft_saves_at ON draft_saves (at)"
  ),
  tenantTable("draft_saves", { app: "SELECT, INSERT, UPDATE", writer: "SELECT, DELETE" })
)
