/** Permits granted under the limits that providers count for each connection. */
import { Effect } from "effect"
import { script, tenantTable } from "./policies.js"

const tables = script(
  `CREATE TABLE connection_limits (
     connection_id text COLLATE "C" NOT NULL REFERENCES connections ON DELETE CASCADE, org text COLLATE "C" NOT NULL,
     state jsonb NOT NULL, revision bigint NOT NULL DEFAULT 1, updated_at timestamptz NOT NULL DEFAULT now(),
     PRIMARY KEY (connection_id, org)) WITH (fillfactor = 50)`
)

export default Effect.zipRight(
  tables,
  tenantTable("connection_limits", { app: "", writer: "SELECT, INSERT, UPDATE, DELETE" })
)
