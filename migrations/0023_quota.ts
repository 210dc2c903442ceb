/** Finds held events by the reason of their hold, and counts what organisations store. */
import { Effect } from "effect"
import { script, tenantTable } from "./policies.js"

const heldBecause = (reason: string) => `status = 'held' AND record->>'heldBecause' = '${reason}'`

const tables = script(
  `CREATE INDEX events_held_quota ON events (org, id) WHERE ${heldBecause("quota")}`,
  `CREATE INDEX events_held_storage ON events (org, id) WHERE ${heldBecause("storage")}`,
  `CREATE INDEX events_held_customer ON events (customer_id, id) WHERE ${heldBecause("customer_suspended")}`,
  `CREATE INDEX events_held_connection ON events (connection_id, id) WHERE ${heldBecause("connection_inactive")}`,
  `CREATE INDEX events_held_age ON events (id) WHERE status = 'held'`,
  `CREATE INDEX rate_windows_starts ON rate_windows (minute) WHERE bucket LIKE 'starts%'`,
  // Counted every hour, for organisations whose plans limit it.
  `CREATE TABLE storage_usage (org text COLLATE "C" PRIMARY KEY, bytes bigint NOT NULL, counted_at timestamptz NOT NULL DEFAULT now())`,
  // Totals of UTC days: calls are added by the nodes, the others are counted every hour.
  `CREATE TABLE usage_days (org text COLLATE "C" NOT NULL, day date NOT NULL, events bigint NOT NULL DEFAULT 0,
     executions bigint NOT NULL DEFAULT 0, api_calls bigint NOT NULL DEFAULT 0, PRIMARY KEY (org, day))`
)

const all = "SELECT, INSERT, UPDATE, DELETE"

export default Effect.all([
  tables,
  tenantTable("storage_usage", { app: "SELECT", writer: all }),
  tenantTable("usage_days", { app: "SELECT", writer: all })
])
