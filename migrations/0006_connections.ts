/** Connections of customers, their sealed credentials, token refreshes in flight, and the outbox of domain events. */
import { Effect } from "effect"
import { script, tenantTable } from "./policies.js"

const all = "SELECT, INSERT, UPDATE, DELETE"

const tables = script(
  // Only the connection's owner writes here: `revision` refuses writes of a former owner.
  `CREATE TABLE connections (
     id text COLLATE "C" PRIMARY KEY, org text COLLATE "C" NOT NULL REFERENCES organisations,
     customer_id text COLLATE "C" NOT NULL REFERENCES customers ON DELETE CASCADE, user_id text, connector text NOT NULL,
     connector_version text NOT NULL, label text NOT NULL, account_label text, auth_method text NOT NULL,
     auth_provider text, status text NOT NULL, health jsonb NOT NULL, config jsonb NOT NULL DEFAULT '{}',
     scopes text[] NOT NULL DEFAULT '{}', is_default boolean NOT NULL DEFAULT false, expires_at timestamptz,
     last_refresh_at timestamptz, refresh_failed_at timestamptz, last_used_at timestamptz,
     metadata jsonb NOT NULL DEFAULT '{}', tags jsonb NOT NULL DEFAULT '{}', credential_fingerprint text,
     created_by text NOT NULL, created_at timestamptz NOT NULL DEFAULT now(),
     updated_at timestamptz NOT NULL DEFAULT now(), version int NOT NULL DEFAULT 1,
     revision bigint NOT NULL DEFAULT 1, next_look_at timestamptz, disconnected_at timestamptz)`,
  `CREATE UNIQUE INDEX connections_default ON connections (org, customer_id, COALESCE(user_id, ''), connector) WHERE is_default`,
  `CREATE INDEX connections_list ON connections (org, created_at DESC, id DESC)`,
  `CREATE INDEX connections_of ON connections (org, customer_id, connector) WHERE disconnected_at IS NULL`,
  `CREATE INDEX connections_customer ON connections (customer_id)`,
  `CREATE INDEX connections_due ON connections (next_look_at) WHERE status = 'active' AND next_look_at IS NOT NULL`,
  `CREATE INDEX connections_pending ON connections (created_at) WHERE status = 'pending'`,
  `CREATE INDEX customers_deleted ON customers (id) WHERE deleted_at IS NOT NULL`,
  `CREATE INDEX connections_gone ON connections (disconnected_at) WHERE disconnected_at IS NOT NULL`,
  `CREATE TABLE credentials (
     id text COLLATE "C" PRIMARY KEY, org text COLLATE "C" NOT NULL,
     connection_id text COLLATE "C" NOT NULL UNIQUE REFERENCES connections ON DELETE CASCADE, number int NOT NULL,
     sealed bytea NOT NULL, members text[] NOT NULL, fingerprint text NOT NULL, expires_at timestamptz,
     created_at timestamptz NOT NULL DEFAULT now(), rotated_at timestamptz)`,
  // A refresh in flight. Committed before the request to the token endpoint, removed by the commit of its answer.
  `CREATE TABLE refresh_intents (
     connection_id text COLLATE "C" PRIMARY KEY REFERENCES connections ON DELETE CASCADE, org text COLLATE "C" NOT NULL,
     refresh_seq int NOT NULL, token_hash text NOT NULL, attempt int NOT NULL, at timestamptz NOT NULL)`,
  `CREATE TABLE connect_sessions (
     id text COLLATE "C" PRIMARY KEY, org text COLLATE "C" NOT NULL,
     connection_id text COLLATE "C" NOT NULL REFERENCES connections ON DELETE CASCADE, token_hash text NOT NULL UNIQUE,
     state_hash text UNIQUE, verifier bytea, auth_method text NOT NULL, auth_provider text,
     config jsonb NOT NULL DEFAULT '{}', redirect_url text, reconnects boolean NOT NULL DEFAULT false,
     status text NOT NULL DEFAULT 'open', error text, created_by text NOT NULL,
     created_at timestamptz NOT NULL DEFAULT now(), expires_at timestamptz NOT NULL, finished_at timestamptz)`,
  `CREATE INDEX connect_sessions_open ON connect_sessions (expires_at) WHERE status = 'open'`,
  `CREATE INDEX connect_sessions_of ON connect_sessions (connection_id)`,
  // The outbox: each event is committed with its change, and the relay of events reads it here.
  `CREATE TABLE domain_events (
     id text COLLATE "C" PRIMARY KEY, org text COLLATE "C" NOT NULL, type text NOT NULL, subject text NOT NULL,
     customer_id text COLLATE "C", payload jsonb NOT NULL, at timestamptz NOT NULL DEFAULT now())`,
  `CREATE INDEX domain_events_list ON domain_events (org, id)`,
  `CREATE TABLE installations (
     id text COLLATE "C" PRIMARY KEY, org text COLLATE "C" NOT NULL REFERENCES organisations,
     customer_id text COLLATE "C" NOT NULL REFERENCES customers ON DELETE CASCADE, integration text NOT NULL,
     workflow_ids text[] NOT NULL DEFAULT '{}', connections jsonb NOT NULL DEFAULT '{}',
     config jsonb NOT NULL DEFAULT '{}', config_schema jsonb, status text NOT NULL, created_by text NOT NULL,
     created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now(),
     uninstalled_at timestamptz, version int NOT NULL DEFAULT 1)`,
  `CREATE UNIQUE INDEX installations_one ON installations (org, customer_id, integration) WHERE uninstalled_at IS NULL`,
  `CREATE INDEX installations_list ON installations (org, created_at DESC, id DESC)`
)

const policies = Effect.all([
  tenantTable("connections", { app: "SELECT", writer: all }),
  tenantTable("credentials", {
    // A request may read whether a credential exists, never the sealed credential.
    app: "SELECT (id, org, connection_id, members, fingerprint, expires_at, created_at, rotated_at)",
    writer: all
  }),
  tenantTable("refresh_intents", { app: "", writer: all }),
  tenantTable("connect_sessions", { app: "", writer: all }),
  tenantTable("domain_events", { app: "SELECT, INSERT", writer: all }),
  tenantTable("installations", { app: all, writer: all })
])

export default Effect.zipRight(tables, policies)
