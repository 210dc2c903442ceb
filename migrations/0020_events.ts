/**
 * Events and dead letters. `events` holds those that are received or held, however long that takes; the statement that
 * settles one moves it to `event_records`, which is partitioned by retention and by id, which is ordered by time.
 */
import { Effect } from "effect"
import { script, tenantTable } from "./policies.js"

const all = "SELECT, INSERT, UPDATE, DELETE"
/** Retention in days, and the days that one partition spans. */
const classes = [
  [3, 1],
  [14, 1],
  [90, 3]
] as const

const columns = `id text COLLATE "C" NOT NULL, class smallint NOT NULL, org text COLLATE "C" NOT NULL,
  space text COLLATE "C" NOT NULL, source text NOT NULL, trigger_id text COLLATE "C", connector text,
  connection_id text COLLATE "C", customer_id text COLLATE "C", type text NOT NULL, priority smallint NOT NULL,
  status text NOT NULL, received_at timestamptz NOT NULL, record json NOT NULL, payload json, sealed bytea`

const indexes = (table: string) => [
  `CREATE INDEX ${table}_list ON ${table} (org, id DESC)`,
  `CREATE INDEX ${table}_trigger ON ${table} (org, trigger_id, id DESC) WHERE trigger_id IS NOT NULL`,
  `CREATE INDEX ${table}_customer ON ${table} (org, customer_id, id DESC) WHERE customer_id IS NOT NULL`
]

const tables = script(
  `CREATE TABLE events (${columns}, PRIMARY KEY (id)) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000)`,
  ...indexes("events"),
  // Finds claims whose event is gone.
  `CREATE INDEX claims_events ON claims (target_id) WHERE scope IN ('event', 'tick')`,
  `CREATE INDEX events_held ON events (org, id) WHERE status = 'held'`,
  `CREATE TABLE event_records (${columns}, finished_at timestamptz NOT NULL, attempts int NOT NULL DEFAULT 0,
     deliveries json, PRIMARY KEY (id, class))
     PARTITION BY LIST (class)`,
  ...indexes("event_records"),
  `CREATE INDEX event_records_status ON event_records (org, status, id DESC) WHERE status <> 'delivered'`,
  ...classes.flatMap(([days]) => [
    `CREATE TABLE event_records_${days} PARTITION OF event_records FOR VALUES IN (${days}) PARTITION BY RANGE (id)`,
    `CREATE TABLE event_records_${days}_rest PARTITION OF event_records_${days} DEFAULT`
  ]),
  `CREATE TABLE dead_letters (
     id text COLLATE "C" PRIMARY KEY, org text COLLATE "C" NOT NULL, space text COLLATE "C" NOT NULL,
     event_id text COLLATE "C", execution_id text COLLATE "C", delivery_id text COLLATE "C",
     trigger_id text COLLATE "C", customer_id text COLLATE "C", connector text, type text NOT NULL,
     priority smallint NOT NULL, source text, connection_id text COLLATE "C", record json, payload json, sealed bytea, error json NOT NULL, context json NOT NULL,
     retry_count int NOT NULL DEFAULT 0, status text NOT NULL DEFAULT 'pending', replay_id text COLLATE "C",
     created_at timestamptz NOT NULL DEFAULT now(), expires_at timestamptz NOT NULL)`,
  `CREATE INDEX dead_letters_list ON dead_letters (org, id DESC)`,
  `CREATE INDEX dead_letters_pending ON dead_letters (org, id) WHERE status = 'pending'`,
  `CREATE INDEX dead_letters_expiry ON dead_letters (expires_at)`,
  // A replay of many dead letters: what is left of it after a restart is what its filter still finds.
  `CREATE TABLE replays (
     id text COLLATE "C" PRIMARY KEY, org text COLLATE "C" NOT NULL, space text COLLATE "C" NOT NULL, filter json NOT NULL,
     most int NOT NULL, per_second double precision NOT NULL, status text NOT NULL DEFAULT 'running',
     replayed int NOT NULL DEFAULT 0, failed int NOT NULL DEFAULT 0, after text COLLATE "C" NOT NULL DEFAULT '',
     created_by text NOT NULL, created_at timestamptz NOT NULL DEFAULT now(), next_at timestamptz NOT NULL DEFAULT now(),
     finished_at timestamptz)`,
  `CREATE INDEX replays_due ON replays (next_at) WHERE status = 'running'`
)

/** The functions that make and drop partitions learn the prefix of the table's ids. */
const functions = script(
  `CREATE FUNCTION svc_ulid_bound(prefix text, at timestamptz) RETURNS text LANGUAGE sql IMMUTABLE
     AS $$ SELECT prefix || '_' || substr(svc_ulid_bound(at), 6) $$`,
  `CREATE FUNCTION svc_partition_range(parent text, days int, ahead int, keep int, prefix text) RETURNS int
   LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   DECLARE span int := days * 86400; first bigint := floor(extract(epoch FROM now()) / span); made int := 0; name text;
     old record; BEGIN
     FOR n IN 0..ahead LOOP
       name := parent || '_' || to_char(to_timestamp((first + n) * span) AT TIME ZONE 'UTC', 'YYYYMMDD');
       IF to_regclass(name) IS NULL THEN
         BEGIN
           EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L)', name, parent,
             svc_ulid_bound(prefix, to_timestamp((first + n) * span)),
             svc_ulid_bound(prefix, to_timestamp((first + n + 1) * span)));
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
  `CREATE OR REPLACE FUNCTION svc_partition_range(parent text, days int, ahead int, keep int) RETURNS int
   LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
   AS $$ SELECT svc_partition_range(parent, days, ahead, keep, 'exec') $$`,
  `ALTER FUNCTION svc_partitions() RENAME TO svc_run_partitions`,
  `REVOKE ALL ON FUNCTION svc_run_partitions() FROM svc_writer`,
  `CREATE FUNCTION svc_partitions() RETURNS int
   LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   BEGIN
     RETURN svc_run_partitions() ${classes
       .map(([days, span]) => `+ svc_partition_range('event_records_${days}', ${span}, 2, ${days}, 'evt')`)
       .join(" ")}; END $$`,
  `REVOKE ALL ON FUNCTION svc_partition_range(text, int, int, int, text) FROM PUBLIC`,
  `REVOKE ALL ON FUNCTION svc_partitions() FROM PUBLIC`,
  `GRANT EXECUTE ON FUNCTION svc_partitions() TO svc_writer`,
  `SELECT svc_partitions()`
)

const policies = Effect.all([
  tenantTable("events", { app: "SELECT", writer: all }),
  tenantTable("event_records", { app: "SELECT", writer: all }),
  tenantTable("dead_letters", { app: "SELECT, UPDATE", writer: all }),
  tenantTable("replays", { app: "SELECT, INSERT, UPDATE", writer: all })
])

export default tables.pipe(Effect.zipRight(functions), Effect.zipRight(policies))
