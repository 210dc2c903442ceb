/** Reports of `svc.diff.compare`, with their entries in parts. */
import { Effect } from "effect"
import { script, tenantTable } from "./policies.js"

export default script(
  // They are kept as long as the record of their run. op: what the entries of a part have in common. size: their characters.
  `CREATE TABLE sync_reports (id text COLLATE "C" PRIMARY KEY, org text COLLATE "C" NOT NULL, space text COLLATE "C" NOT NULL,
     execution_id text COLLATE "C" NOT NULL, workflow_id text COLLATE "C" NOT NULL, customer_id text COLLATE "C",
     name text NOT NULL, summary json NOT NULL, created_at timestamptz NOT NULL DEFAULT now(), expires_at timestamptz NOT NULL)`,
  "CREATE INDEX sync_reports_execution ON sync_reports (execution_id, id)",
  "CREATE INDEX sync_reports_customer ON sync_reports (customer_id) WHERE customer_id IS NOT NULL",
  "CREATE INDEX sync_reports_expiry ON sync_reports (expires_at)",
  `CREATE TABLE sync_report_parts (report_id text COLLATE "C" NOT NULL, first int NOT NULL, org text COLLATE "C" NOT NULL,
     op text NOT NULL, count int NOT NULL, size int NOT NULL, entries json NOT NULL, expires_at timestamptz NOT NULL, PRIMARY KEY (report_id, first))`,
  "CREATE INDEX sync_report_parts_expiry ON sync_report_parts (expires_at)"
).pipe(
  Effect.zipRight(tenantTable("sync_reports", { app: "SELECT", writer: "SELECT, INSERT, DELETE" })),
  Effect.zipRight(tenantTable("sync_report_parts", { app: "SELECT", writer: "SELECT, INSERT, DELETE" }))
)
