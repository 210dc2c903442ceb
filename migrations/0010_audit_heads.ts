/**
 * The number up to which each organisation's audit entries are sealed. Without a row the sealer reads all entries of
 * the organisation once, and seals those that an earlier release left unsealed.
 */
import { Effect } from "effect"
import { script, tenantTable } from "./policies.js"

const tables = script(
  `CREATE TABLE audit_heads (
     org text COLLATE "C" PRIMARY KEY REFERENCES organisations, seq bigint NOT NULL, hash text,
     xid bigint NOT NULL, entry_id text COLLATE "C" NOT NULL)`
)

export default Effect.zipRight(tables, tenantTable("audit_heads", { app: "", writer: "SELECT, INSERT, UPDATE" }))
