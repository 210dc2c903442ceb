/** Sessions of customers' people in pages of the organisation's product. Their tokens are known by their hashes only. */
import { Effect } from "effect"
import { script, tenantTable } from "./policies.js"

export const oldestBeside = 1

export default script(
  // connectors: NULL for all. replaced_hash: of the token before, which is valid until replaced_until.
  `CREATE TABLE embed_sessions (id text COLLATE "C" PRIMARY KEY,
     org text COLLATE "C" NOT NULL REFERENCES organisations ON DELETE CASCADE, space text COLLATE "C" NOT NULL,
     key_id text COLLATE "C" NOT NULL REFERENCES api_keys ON DELETE CASCADE,
     customer_id text COLLATE "C" NOT NULL REFERENCES customers ON DELETE CASCADE,
     user_id text, user_email text, user_name text, widget_id text COLLATE "C", widget_version int, connectors text[],
     permissions jsonb NOT NULL, allowed_origins text[] NOT NULL, theme jsonb NOT NULL, locale text NOT NULL, metadata jsonb NOT NULL,
     token_seconds int NOT NULL, created_at timestamptz NOT NULL, expires_at timestamptz NOT NULL, ended_at timestamptz,
     token_number int NOT NULL, token_hash text NOT NULL, token_expires_at timestamptz NOT NULL,
     replaced_hash text, replaced_until timestamptz)`,
  "CREATE UNIQUE INDEX embed_sessions_token ON embed_sessions (token_hash)",
  "CREATE UNIQUE INDEX embed_sessions_replaced ON embed_sessions (replaced_hash) WHERE replaced_hash IS NOT NULL",
  "CREATE INDEX embed_sessions_list ON embed_sessions (org, created_at DESC, id DESC)",
  "CREATE INDEX embed_sessions_key ON embed_sessions (key_id)",
  "CREATE INDEX embed_sessions_customer ON embed_sessions (customer_id)",
  "CREATE INDEX embed_sessions_widget ON embed_sessions (widget_id) WHERE widget_id IS NOT NULL",
  "CREATE INDEX embed_sessions_expired ON embed_sessions (expires_at)",
  "CREATE INDEX embed_sessions_origins ON embed_sessions USING gin (allowed_origins)",
  "GRANT SELECT (id, org, connection_id, status, error, created_by, expires_at) ON connect_sessions TO svc_app"
).pipe(
  Effect.zipRight(tenantTable("embed_sessions", { app: "SELECT, INSERT, UPDATE, DELETE", writer: "SELECT, DELETE" }))
)
