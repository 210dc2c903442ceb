/** Endpoints of organisations that receive events, attempts of deliveries, notifications, and deliveries of three kinds. */
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
     ADD COLUMN event_type text, ADD COLUMN customer_id text COLLATE "C",
     ADD COLUMN notification_id text COLLATE "C", ADD COLUMN attempts_before int NOT NULL DEFAULT 0`,
  `CREATE INDEX deliveries_endpoint ON deliveries (endpoint_id) WHERE endpoint_id IS NOT NULL`,
  `CREATE INDEX deliveries_customer ON deliveries (customer_id) WHERE customer_id IS NOT NULL`,
  `CREATE TABLE delivery_attempts (
     id text COLLATE "C" PRIMARY KEY, org text COLLATE "C" NOT NULL, delivery_id text COLLATE "C" NOT NULL,
     endpoint_id text COLLATE "C", event_type text, number int NOT NULL, outcome text NOT NULL, status int, error text,
     duration_ms int, created_at timestamptz NOT NULL DEFAULT now())`,
  `CREATE INDEX delivery_attempts_endpoint ON delivery_attempts (endpoint_id, created_at DESC, id DESC)
     WHERE endpoint_id IS NOT NULL`,
  `CREATE INDEX delivery_attempts_delivery ON delivery_attempts (delivery_id)`,
  // One notification of a cause in an hour and channel.
  `CREATE TABLE notifications (
     id text COLLATE "C" PRIMARY KEY, org text COLLATE "C" NOT NULL, customer_id text COLLATE "C", user_id text,
     channel text NOT NULL, severity text NOT NULL, title text NOT NULL, body text NOT NULL DEFAULT '', link text,
     source jsonb, status text NOT NULL, read_at timestamptz, pending int NOT NULL DEFAULT 0, cause text,
     hour timestamptz NOT NULL, created_at timestamptz NOT NULL DEFAULT now())`,
  `CREATE UNIQUE INDEX notifications_cause ON notifications (org, cause, channel, hour) WHERE cause IS NOT NULL`,
  `CREATE INDEX notifications_list ON notifications (org, created_at DESC, id DESC)`,
  `CREATE INDEX notifications_customer ON notifications (customer_id) WHERE customer_id IS NOT NULL`,
  // An id whose last 16 characters are random, for rows that a statement makes of others.
  `CREATE FUNCTION svc_new_id(prefix text) RETURNS text LANGUAGE sql VOLATILE AS $$
     SELECT prefix || substr(svc_ulid_bound(clock_timestamp()), 5) || right(replace(gen_random_uuid()::text, '-', ''), 16) $$`
)

/**
 * A dead letter is told of in the statement that adds it. Not those that telling of others has caused, or notifications
 * that were given up, which would repeat for ever.
 */
const deadLetters = script(
  `CREATE INDEX dead_letters_delivery ON dead_letters (delivery_id) WHERE delivery_id IS NOT NULL`,
  `CREATE FUNCTION svc_tell_dead_letters() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
     INSERT INTO domain_events (id, org, type, subject, customer_id, payload)
     SELECT svc_new_id('evt'), a.org, 'dlq.entry_created', COALESCE(a.trigger_id, a.connector, a.type), a.customer_id,
       jsonb_build_object('deadLetterId', a.id, 'type', a.type, 'eventId', a.event_id, 'executionId', a.execution_id,
         'deliveryId', a.delivery_id, 'triggerId', a.trigger_id, 'connector', a.connector, 'customerId', a.customer_id,
         'code', a.error->>'code', 'reason', a.error->>'message')
     FROM added a WHERE a.type NOT IN ('dlq.entry_created', 'notification.exhausted')
       AND a.context->>'eventType' IS DISTINCT FROM 'dlq.entry_created';
     RETURN NULL; END $$`,
  `CREATE TRIGGER dead_letters_told AFTER INSERT ON dead_letters REFERENCING NEW TABLE AS added
     FOR EACH STATEMENT EXECUTE FUNCTION svc_tell_dead_letters()`
)

const policies = Effect.all([
  tenantTable("webhook_endpoints", { app: all, writer: all }),
  tenantTable("delivery_attempts", { app: "SELECT", writer: "SELECT, INSERT, DELETE" }),
  tenantTable("notifications", { app: all, writer: all }),
  script("GRANT UPDATE ON deliveries TO svc_app")
])

export default tables.pipe(Effect.zipRight(deadLetters), Effect.zipRight(policies))
