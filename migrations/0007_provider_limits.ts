/** Permits granted under providers' limits that count over all connections of a connector. */
import { Effect } from "effect"
import { script, tenantTable } from "./policies.js"

const tables = script(
  `CREATE TABLE provider_limits (
     org text COLLATE "C" NOT NULL REFERENCES organisations, connector text NOT NULL, state jsonb NOT NULL,
     revision bigint NOT NULL DEFAULT 1, updated_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (org, connector))`
)

export default Effect.zipRight(
  tables,
  tenantTable("provider_limits", { app: "", writer: "SELECT, INSERT, UPDATE, DELETE" })
)
