/** Endpoints of organisations that receive events, attempts of deliveries, and deliveries of three kinds. */
import { Effect } from "effect"
import { script, tenantTable } from "./policies.js"

const all = "SELECT, INSERT, UPDATE, DELETE"

const tables = script(
  `CREATE TABLE webhook_endpoints (
     id text COLLATE "C" PRIMARY KEY, org text COLLATE "C" NOT NULL REFERENCES organisations,
     space text COLLATE "C" NOT NULL, url text NOT NULL, description text NOT NULL DEFAULT '', events text[] NOT NULL,
     status text NOT NULL DEFAULT 'active', disabled_reason text, failing_since timestamptz, secret bytea NOT NULL,
     secret_before bytea, rotated_at timestamptz, created_by text NOT NULL,
     created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now(),
     version int NOT NULL DEFAULT 1)`,
  `CREATE INDEX webhook_endpoints_list ON webhook_endpoints (org, created_at DESC, id DESC)`,
  // An endpoint belongs to the organisation, so events without a workspace are delivered to it, too.
  `ALTER TABLE deliveries ALTER COLUMN space DROP NOT NULL, ADD COLUMN endpoint_id text COLLATE "C",
     ADD COLUMN event_type text, ADD COLUMN customer_id text COLLATE "C", ADD COLUMN attempts_before int NOT NULL DEFAULT 0`,
  `CREATE INDEX deliveries_endpoint ON deliveries (endpoint_id) WHERE endpoint_id IS NOT NULL`,
  `CREATE INDEX deliveries_customer ON deliveries (customer_id) WHERE customer_id IS NOT NULL`,
  `CREATE TABLE delivery_attempts (
     id text COLLATE "C" PRIMARY KEY, org text COLLATE "C" NOT NULL, delivery_id text COLLATE "C" NOT NULL,
     endpoint_id text COLLATE "C", event_type text, number int NOT NULL, outcome text NOT NULL, status int, error text,
     duration_ms int, created_at timestamptz NOT NULL DEFAULT now())`,
  `CREATE INDEX delivery_attempts_endpoint ON delivery_attempts (endpoint_id, created_at DESC, id DESC)
     WHERE endpoint_id IS NOT NULL`,
  `CREATE INDEX delivery_attempts_delivery ON delivery_attempts (delivery_id)`,
  // An id whose last 16 characters are random, for rows that a statement makes of others.
  `CREATE FUNCTION svc_new_id(prefix text) RETURNS text LANGUAGE sql VOLATILE AS $$
     SELECT prefix || substr(svc_ulid_bound(clock_timestamp()), 5) || right(replace(gen_random_uuid()::text, '-', ''), 16) $$`
)

const policies = Effect.all([
  tenantTable("webhook_endpoints", { app: all, writer: all }),
  tenantTable("delivery_attempts", { app: "SELECT", writer: "SELECT, INSERT, DELETE" }),
  script("GRANT UPDATE ON deliveries TO svc_app")
])

export default Effect.zipRight(tables, policies)
