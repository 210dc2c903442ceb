/**
 * Counts accepted events by trigger and minute, so that one is missed of which every row is gone. The flush that inserts
 * events adds to the counts of its connection; they are partitioned and dropped like the events' records.
 */
import { Effect } from "effect"
import { script, tenantTable } from "./policies.js"

/** Retention in days, and the days that one partition spans: those of `event_records`. */
const classes = [
  [3, 1],
  [14, 1],
  [90, 3]
] as const

const tables = script(
  // Minutes since 1970, by the id of the event. The writer is a connection: no two flushes wait for each other's counts.
  `CREATE TABLE event_counts (class smallint NOT NULL, org text COLLATE "C" NOT NULL, minute int NOT NULL,
     space text COLLATE "C" NOT NULL, trigger_id text COLLATE "C" NOT NULL, writer int NOT NULL, n int NOT NULL,
     PRIMARY KEY (org, minute, space, trigger_id, writer, class)) PARTITION BY LIST (class)`,
  `CREATE INDEX event_counts_minute ON event_counts (minute)`,
  ...classes.flatMap(([days]) => [
    `CREATE TABLE event_counts_${days} PARTITION OF event_counts FOR VALUES IN (${days}) PARTITION BY RANGE (minute)`,
    `CREATE TABLE event_counts_${days}_rest PARTITION OF event_counts_${days} DEFAULT`
  ])
)

const letters = "0123456789abcdefghjkmnpqrstvwxyz"
const timeOfEvent = Array.from(
  { length: 10 },
  (_, n) => `(strpos('${letters}', substr(id, ${5 + n}, 1)) - 1) * ${32 ** (9 - n)}::bigint`
).join(" + ")

const functions = script(
  `CREATE FUNCTION svc_event_minute(id text) RETURNS int LANGUAGE sql IMMUTABLE
     AS $$ SELECT ((${timeOfEvent}) / 60000)::int $$`,
  // Without a prefix the partition key is a minute.
  `CREATE FUNCTION svc_partition_bound(prefix text, epoch bigint) RETURNS text LANGUAGE sql IMMUTABLE
     AS $$ SELECT CASE WHEN prefix IS NULL THEN (epoch / 60)::text ELSE svc_ulid_bound(prefix, to_timestamp(epoch)) END $$`,
  `CREATE OR REPLACE FUNCTION svc_partition_range(parent text, days int, ahead int, keep int, prefix text) RETURNS int
   LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   DECLARE span int := days * 86400; first bigint := floor(extract(epoch FROM now()) / span); made int := 0; name text;
     old record; BEGIN
     FOR n IN 0..ahead LOOP
       name := parent || '_' || to_char(to_timestamp((first + n) * span) AT TIME ZONE 'UTC', 'YYYYMMDD');
       IF to_regclass(name) IS NULL THEN
         BEGIN
           EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L)', name, parent,
             svc_partition_bound(prefix, (first + n) * span), svc_partition_bound(prefix, (first + n + 1) * span));
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
  `ALTER FUNCTION svc_partitions() RENAME TO svc_record_partitions`,
  `REVOKE ALL ON FUNCTION svc_record_partitions() FROM svc_writer`,
  `CREATE FUNCTION svc_partitions() RETURNS int
   LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   BEGIN
     RETURN svc_record_partitions() ${classes
       .map(([days, span]) => `+ svc_partition_range('event_counts_${days}', ${span}, 2, ${days}, NULL)`)
       .join(" ")}; END $$`,
  `REVOKE ALL ON FUNCTION svc_partitions() FROM PUBLIC`,
  `GRANT EXECUTE ON FUNCTION svc_partitions() TO svc_writer`,
  `SELECT svc_partitions()`
)

const claims = script(
  // Ends the transaction: another one took part of what its change needs, so that it is written again.
  `CREATE FUNCTION svc_repeat_flush() RETURNS text LANGUAGE plpgsql AS $$ BEGIN
     RAISE EXCEPTION 'a claim was taken while the change with it was written' USING ERRCODE = 'serialization_failure';
   END $$`
)

export default tables.pipe(
  Effect.zipRight(functions),
  Effect.zipRight(claims),
  Effect.zipRight(tenantTable("event_counts", { app: "SELECT", writer: "SELECT, INSERT, UPDATE, DELETE" }))
)
