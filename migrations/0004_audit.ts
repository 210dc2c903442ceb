/**
 * The audit trail. The statement that makes a change also writes its entry; the sealer chains entries afterwards.
 * Both tables are append-only: triggers refuse every other change, also by the tables' owner.
 */
import { Effect } from "effect"
import { script, tenantTable } from "./policies.js"

const appendOnly = (table: string) =>
  script(
    `CREATE TRIGGER ${table}_append_only BEFORE UPDATE OR DELETE ON ${table}
       FOR EACH ROW EXECUTE FUNCTION svc_refuse_change()`,
    `CREATE TRIGGER ${table}_no_truncate BEFORE TRUNCATE ON ${table}
       FOR EACH STATEMENT EXECUTE FUNCTION svc_refuse_change()`
  )

const tables = script(
  `CREATE TABLE audit_entries (
     id text COLLATE "C" PRIMARY KEY, org text COLLATE "C" NOT NULL, at timestamptz NOT NULL,
     xid bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint, actor_type text NOT NULL, actor_id text NOT NULL,
     action text NOT NULL, resource_type text NOT NULL, resource_id text, customer_id text COLLATE "C",
     outcome text NOT NULL, entry json NOT NULL)`,
  `CREATE INDEX audit_entries_list ON audit_entries (org, id DESC)`,
  `CREATE INDEX audit_entries_order ON audit_entries (org, xid, id)`,
  `CREATE INDEX audit_entries_recent ON audit_entries USING brin (xid) WITH (pages_per_range = 32)`,
  `CREATE TABLE audit_seal (
     org text COLLATE "C" NOT NULL, seq bigint NOT NULL, entry_id text COLLATE "C" NOT NULL UNIQUE, prev_hash text,
     hash text NOT NULL, PRIMARY KEY (org, seq))`,
  `CREATE FUNCTION svc_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN RAISE EXCEPTION 'the audit trail can only grow' USING ERRCODE = 'insufficient_privilege'; END $$`
)

const policies = Effect.all([
  tenantTable("audit_entries", { app: "SELECT, INSERT", writer: "SELECT, INSERT" }),
  tenantTable("audit_seal", { app: "SELECT", writer: "SELECT, INSERT" }),
  script(
    `CREATE POLICY audit_entries_reader ON audit_entries FOR SELECT TO svc_audit_reader USING (true)`,
    `CREATE POLICY audit_seal_reader ON audit_seal FOR SELECT TO svc_audit_reader USING (true)`,
    `GRANT SELECT ON audit_entries, audit_seal TO svc_audit_reader`
  )
])

export default tables.pipe(
  Effect.zipRight(appendOnly("audit_entries")),
  Effect.zipRight(appendOnly("audit_seal")),
  Effect.zipRight(policies)
)
