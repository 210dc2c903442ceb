/**
 * Polls of connected systems: one for each connection and event, whatever the number of triggers, and the items that it
 * has seen.
 */
import { Effect } from "effect"
import { script, tenantTable } from "./policies.js"

const all = "SELECT, INSERT, UPDATE, DELETE"

const tables = script(
  // `seq`: how many polls were committed; 0: none, so that the next one is the baseline.
  `CREATE TABLE polls (
     connection_id text COLLATE "C" NOT NULL REFERENCES connections ON DELETE CASCADE, event text NOT NULL,
     org text COLLATE "C" NOT NULL, connector text NOT NULL, seq int NOT NULL DEFAULT 0, failures int NOT NULL DEFAULT 0,
     last_error text, polled_at timestamptz, next_at timestamptz NOT NULL DEFAULT now(), leased_until timestamptz,
     PRIMARY KEY (connection_id, event))`,
  `CREATE INDEX polls_due ON polls (next_at)`,
  `CREATE TABLE poll_items (
     connection_id text COLLATE "C" NOT NULL, event text NOT NULL, org text COLLATE "C" NOT NULL,
     key text COLLATE "C" NOT NULL, hash text NOT NULL, PRIMARY KEY (connection_id, event, key),
     FOREIGN KEY (connection_id, event) REFERENCES polls ON DELETE CASCADE)`
)

const policies = Effect.all([
  tenantTable("polls", { app: "SELECT", writer: all }),
  tenantTable("poll_items", { app: "", writer: all })
])

export default Effect.zipRight(tables, policies)
