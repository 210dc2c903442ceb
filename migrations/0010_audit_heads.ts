/**
 * How far each organisation's audit entries have been sealed. Without a row the sealer goes through all of them once and
 * takes up what an earlier release left out.
 */
import { Effect } from "effect"
import { script, tenantTable } from "./policies.js"

const tables = script(
  `CREATE TABLE audit_heads (
     org text COLLATE "C" PRIMARY KEY REFERENCES organisations, seq bigint NOT NULL, hash text,
     xid bigint NOT NULL, entry_id text COLLATE "C" NOT NULL)`
)

export default Effect.zipRight(tables, tenantTable("audit_heads", { app: "", writer: "SELECT, INSERT, UPDATE" }))
