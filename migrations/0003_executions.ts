/**
 * Runs and their records. `runs` holds unfinished runs and carries the fence. The statement that ends a run moves it to
 * `executions`, which is append-only and partitioned by retention and by id, which is ordered by time.
 */
import { Effect } from "effect"
import { script, tenantTable } from "./policies.js"

const all = "SELECT, INSERT, UPDATE, DELETE"
const partitioned = ["executions", "steps", "logs", "blobs"] as const
/** Retention in days, and the days that one partition spans: a table has at most 60 partitions at a time. */
const classes = [
  [7, 1],
  [30, 2],
  [365, 14]
] as const

const tables = script(
  `CREATE TABLE runs (
     id text COLLATE "C" PRIMARY KEY, org text COLLATE "C" NOT NULL, space text COLLATE "C" NOT NULL,
     shard int NOT NULL, epoch int NOT NULL, engine text NOT NULL, class smallint NOT NULL, status text NOT NULL,
     tier text NOT NULL, priority smallint NOT NULL, workflow_id text COLLATE "C" NOT NULL, customer_id text COLLATE "C",
     trigger_type text NOT NULL, attempt int NOT NULL, activations int NOT NULL DEFAULT 0, progress int NOT NULL DEFAULT 0,
     wake_at timestamptz, deadline_at timestamptz NOT NULL, waiting json, created_at timestamptz NOT NULL,
     started_at timestamptz, record json NOT NULL, input json)`,
  `CREATE INDEX runs_wake ON runs (shard, wake_at) WHERE wake_at IS NOT NULL`,
  `CREATE INDEX runs_deadline ON runs (deadline_at)`,
  `CREATE INDEX runs_list ON runs (org, id DESC)`,
  `CREATE TABLE executions (
     id text COLLATE "C" NOT NULL, class smallint NOT NULL, org text COLLATE "C" NOT NULL, space text COLLATE "C" NOT NULL,
     status text NOT NULL, workflow_id text COLLATE "C" NOT NULL, customer_id text COLLATE "C", trigger_type text NOT NULL,
     finished_at timestamptz NOT NULL, record json NOT NULL, input json, output json, PRIMARY KEY (id, class)
   ) PARTITION BY LIST (class)`,
  `CREATE INDEX executions_list ON executions (org, id DESC)`,
  `CREATE INDEX executions_workflow ON executions (org, workflow_id, id DESC)`,
  `CREATE INDEX executions_customer ON executions (org, customer_id, id DESC) WHERE customer_id IS NOT NULL`,
  `CREATE INDEX executions_unsuccessful ON executions (org, id DESC) WHERE status <> 'completed'`,
  `CREATE TABLE steps (
     id text COLLATE "C" NOT NULL, class smallint NOT NULL, org text COLLATE "C" NOT NULL, index int NOT NULL,
     status text NOT NULL, record json NOT NULL, PRIMARY KEY (id, class, index)
   ) PARTITION BY LIST (class)`,
  `CREATE TABLE logs (
     id text COLLATE "C" NOT NULL, class smallint NOT NULL, org text COLLATE "C" NOT NULL, seq int NOT NULL,
     lines json NOT NULL, PRIMARY KEY (id, class, seq)
   ) PARTITION BY LIST (class)`,
  `CREATE TABLE blobs (
     id text COLLATE "C" NOT NULL, class smallint NOT NULL, org text COLLATE "C" NOT NULL, blob_id text COLLATE "C" NOT NULL,
     content json NOT NULL, PRIMARY KEY (id, class, blob_id)
   ) PARTITION BY LIST (class)`,
  ...partitioned.flatMap((table) =>
    classes.flatMap(([days]) => [
      `CREATE TABLE ${table}_${days} PARTITION OF ${table} FOR VALUES IN (${days}) PARTITION BY RANGE (id)`,
      `CREATE TABLE ${table}_${days}_rest PARTITION OF ${table}_${days} DEFAULT`
    ])
  ),
  // The exact results of host calls, sealed. Only a replay reads them.
  `CREATE TABLE journal (
     id text COLLATE "C" NOT NULL, seq int NOT NULL, epoch int NOT NULL, kind smallint NOT NULL, call int,
     hash text, body bytea NOT NULL, at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (id, seq)
   ) PARTITION BY RANGE (id)`,
  `CREATE TABLE journal_rest PARTITION OF journal DEFAULT`,
  // Everything that waits to start. The row is the only mark of a run that has not started.
  `CREATE TABLE outbox (
     seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, org text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL UNIQUE,
     shard int NOT NULL, priority smallint NOT NULL, vtag bigint NOT NULL, not_before timestamptz NOT NULL DEFAULT now(),
     claimed_by text, claimed_until timestamptz
   ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, fillfactor = 70)`,
  `CREATE INDEX outbox_order ON outbox (priority, vtag, seq)`,
  `CREATE TABLE claims (
     org text COLLATE "C" NOT NULL, scope text NOT NULL, key text COLLATE "C" NOT NULL, target_id text COLLATE "C" NOT NULL,
     hash text, expires_at timestamptz NOT NULL, PRIMARY KEY (org, scope, key))`,
  `CREATE INDEX claims_expiry ON claims (expires_at)`,
  `CREATE TABLE deliveries (
     id text COLLATE "C" PRIMARY KEY, org text COLLATE "C" NOT NULL, space text COLLATE "C" NOT NULL, kind text NOT NULL,
     url text NOT NULL, execution_id text COLLATE "C", payload text NOT NULL, attempts int NOT NULL DEFAULT 0,
     status text NOT NULL DEFAULT 'pending', next_at timestamptz NOT NULL DEFAULT now(), claimed_until timestamptz,
     last_status int, last_error text, created_at timestamptz NOT NULL DEFAULT now(), finished_at timestamptz)`,
  `CREATE INDEX deliveries_due ON deliveries (next_at) WHERE status = 'pending'`,
  `CREATE INDEX deliveries_execution ON deliveries (org, execution_id)`,
  // The answers to management requests with an Idempotency-Key; sealed, because an answer may contain an API key.
  `CREATE TABLE idempotent_replies (
     org text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL, hash text NOT NULL, sealed bytea NOT NULL,
     expires_at timestamptz NOT NULL, PRIMARY KEY (org, key))`,
  `CREATE INDEX idempotent_replies_expiry ON idempotent_replies (expires_at)`
)

const functions = script(
  `CREATE FUNCTION svc_ulid_bound(at timestamptz) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
   DECLARE rest bigint := floor(extract(epoch FROM at) * 1000); out text := ''; BEGIN
     FOR i IN 1..10 LOOP
       out := substr('0123456789abcdefghjkmnpqrstvwxyz', (rest % 32)::int + 1, 1) || out; rest := rest / 32;
     END LOOP;
     RETURN 'exec_' || out; END $$`,
  // Creates the partitions of the next days and drops those past their retention. A range with rows in the default
  // partition gets no partition of its own: those rows stay there, are read like all others, and this function does not
  // drop them.
  `CREATE FUNCTION svc_partition_range(parent text, days int, ahead int, keep int) RETURNS int
   LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   DECLARE span int := days * 86400; first bigint := floor(extract(epoch FROM now()) / span); made int := 0; name text;
     old record; BEGIN
     FOR n IN 0..ahead LOOP
       name := parent || '_' || to_char(to_timestamp((first + n) * span) AT TIME ZONE 'UTC', 'YYYYMMDD');
       IF to_regclass(name) IS NULL THEN
         BEGIN
           EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L)', name, parent,
             svc_ulid_bound(to_timestamp((first + n) * span)), svc_ulid_bound(to_timestamp((first + n + 1) * span)));
           made := made + 1;
         EXCEPTION WHEN check_violation THEN NULL;
         END;
       END IF;
     END LOOP;
     FOR old IN SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
       WHERE i.inhparent = parent::regclass AND c.relname ~ '_[0-9]{8}$'
         AND to_date(right(c.relname, 8), 'YYYYMMDD') < ((now() AT TIME ZONE 'UTC')::date - keep - days) LOOP
       EXECUTE format('DROP TABLE %I', old.relname);
     END LOOP;
     RETURN made; END $$`,
  `CREATE FUNCTION svc_partitions() RETURNS int
   LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   DECLARE made int := 0; t text; BEGIN
     PERFORM pg_advisory_xact_lock(hashtext('svc_partitions'));
     FOREACH t IN ARRAY ARRAY[${partitioned.map((t) => `'${t}'`).join(",")}] LOOP
       made := made ${classes.map(([days, span]) => `+ svc_partition_range(t || '_${days}', ${span}, 2, ${days})`).join(" ")};
     END LOOP;
     RETURN made + svc_partition_range('journal', 1, 2, 10); END $$`,
  `REVOKE ALL ON FUNCTION svc_partition_range(text, int, int, int) FROM PUBLIC`,
  `REVOKE ALL ON FUNCTION svc_partitions() FROM PUBLIC`,
  `GRANT EXECUTE ON FUNCTION svc_partitions() TO svc_writer`,
  `SELECT svc_partitions()`
)

const policies = Effect.all([
  tenantTable("runs", { app: "SELECT", writer: all }),
  tenantTable("executions", { app: "SELECT", writer: "SELECT, INSERT, DELETE" }),
  tenantTable("steps", { app: "SELECT", writer: all }),
  tenantTable("logs", { app: "SELECT", writer: "SELECT, INSERT, DELETE" }),
  tenantTable("blobs", { app: "SELECT", writer: "SELECT, INSERT, DELETE" }),
  tenantTable("outbox", { app: "SELECT", writer: all }),
  tenantTable("claims", { app: all, writer: all }),
  tenantTable("deliveries", { app: "SELECT, INSERT", writer: all }),
  tenantTable("idempotent_replies", { app: all, writer: "SELECT, DELETE" }),
  script(`GRANT SELECT, INSERT, DELETE ON journal TO svc_writer`)
])

export default tables.pipe(Effect.zipRight(functions), Effect.zipRight(policies))
