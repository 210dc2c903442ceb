/**
 * What keeps triggers on events of connectors informed: subscriptions at the provider, one for each trigger and
 * connection; and polls, one for each connection and event whatever the number of triggers, with the items that they saw.
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
     FOREIGN KEY (connection_id, event) REFERENCES polls ON DELETE CASCADE)`,
  // `number` is part of the address that the provider gets, and is new with each attempt to subscribe.
  `CREATE TABLE subscriptions (
     trigger_id text COLLATE "C" NOT NULL REFERENCES triggers ON DELETE CASCADE,
     connection_id text COLLATE "C" NOT NULL REFERENCES connections ON DELETE CASCADE,
     org text COLLATE "C" NOT NULL, state text NOT NULL DEFAULT 'pending', number text COLLATE "C" UNIQUE,
     external_id text, secret bytea, expires_at timestamptz, attempts int NOT NULL DEFAULT 0, last_error text,
     next_at timestamptz DEFAULT now(), leased_until timestamptz, created_at timestamptz NOT NULL DEFAULT now(),
     PRIMARY KEY (trigger_id, connection_id))`,
  `CREATE INDEX subscriptions_connection ON subscriptions (connection_id)`,
  `CREATE INDEX connections_of_connector ON connections (org, connector) WHERE disconnected_at IS NULL`
)

const policies = Effect.all([
  tenantTable("polls", { app: "SELECT", writer: all }),
  tenantTable("poll_items", { app: "", writer: all }),
  tenantTable("subscriptions", {
    // A request may read how a subscription stands and have it retried, never its secret or address.
    app: "SELECT (trigger_id, connection_id, org, state, attempts, next_at), UPDATE (org, state, attempts, next_at)",
    writer: all
  })
])

export default Effect.zipRight(tables, policies)
