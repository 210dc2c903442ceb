/**
 * The signed lines of the nodes' checkpoint files, so that each node has those of all: for each organisation the last
 * checkpoint (`place` is empty), and the branches that were closed, each under its signature.
 */
import { Effect } from "effect"
import { script, tenantTable } from "./policies.js"

const tables = script(
  `CREATE TABLE audit_checkpoints (
     org text COLLATE "C" NOT NULL,
     place text COLLATE "C" NOT NULL,
     seq bigint NOT NULL,
     line text NOT NULL,
     written_at timestamptz NOT NULL DEFAULT now(),
     PRIMARY KEY (org, place)
   ) WITH (fillfactor = 70)`,
  "CREATE INDEX audit_checkpoints_recent ON audit_checkpoints (written_at)"
)

export default Effect.zipRight(
  tables,
  tenantTable("audit_checkpoints", { app: "", writer: "SELECT, INSERT, UPDATE, DELETE" })
)
