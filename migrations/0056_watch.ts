/**
 * What was committed since a position: for the watches of clients. Rows of runs and events have the transaction that wrote
 * them last, so that their commits write no further row; changes of other records are rows of a table, for an hour or two.
 */
import { Effect } from "effect"
import { script, tenantTable } from "./policies.js"

/** Rows of before are none that anyone waits for. */
const columns = script(
  ...["runs", "executions", "events", "event_records"].flatMap((table) => [
    `ALTER TABLE ${table} ADD COLUMN changed xid8`,
    `ALTER TABLE ${table} ALTER COLUMN changed SET DEFAULT pg_current_xact_id()`,
    `CREATE INDEX ${table}_changed ON ${table} (changed) WHERE changed IS NOT NULL`
  ]),
  `CREATE FUNCTION svc_mark_changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
     NEW.changed := pg_current_xact_id(); RETURN NEW; END $$`,
  // An event is held and released rarely.
  `CREATE TRIGGER events_changed BEFORE UPDATE OF status ON events FOR EACH ROW EXECUTE FUNCTION svc_mark_changed()`
)

/** Whether a change is one that a client would see in a list. */
const isSeen = (...members: ReadonlyArray<string>) =>
  `(${members.map((one) => `OLD.${one}`).join(", ")}) IS DISTINCT FROM (${members.map((one) => `NEW.${one}`).join(", ")})`

/** Inserts a change of the row that a trigger is called for. */
const recorder = (name: string, values: string) =>
  `CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   DECLARE r record; BEGIN
     IF TG_OP = 'DELETE' THEN r := OLD; ELSE r := NEW; END IF;
     INSERT INTO record_changes (topic, org, id, status, space, customer_id, connector, reader) VALUES (${values});
     RETURN NULL; END $$`

const recordChanges = script(
  // reader: the person who alone sees the change; empty: keys alone; NULL: everybody.
  `CREATE TABLE record_changes (
     changed xid8 NOT NULL DEFAULT pg_current_xact_id(), n bigint GENERATED ALWAYS AS IDENTITY, topic text NOT NULL,
     org text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, status text NOT NULL, space text COLLATE "C",
     customer_id text COLLATE "C", connector text, reader text, at timestamptz NOT NULL DEFAULT clock_timestamp())`,
  "CREATE INDEX record_changes_changed ON record_changes (changed)",
  "CREATE INDEX record_changes_at ON record_changes (at)",
  recorder(
    "svc_record_connection",
    `'connections', r.org, r.id, CASE WHEN TG_OP = 'DELETE' THEN 'deleted' ELSE r.status END, NULL, r.customer_id,
     r.connector, NULL`
  ),
  `CREATE TRIGGER connections_recorded AFTER INSERT OR DELETE ON connections
     FOR EACH ROW EXECUTE FUNCTION svc_record_connection()`,
  `CREATE TRIGGER connections_changed AFTER UPDATE ON connections FOR EACH ROW
     WHEN (${isSeen("status", "version", "is_default", "disconnected_at")}) EXECUTE FUNCTION svc_record_connection()`,
  recorder(
    "svc_record_trigger",
    `'triggers', r.org, r.id, CASE WHEN TG_OP = 'DELETE' OR r.deleted_at IS NOT NULL THEN 'deleted' ELSE r.status END,
     r.space, r.customer_id, NULL, NULL`
  ),
  `CREATE TRIGGER triggers_recorded AFTER INSERT ON triggers FOR EACH ROW EXECUTE FUNCTION svc_record_trigger()`,
  `CREATE TRIGGER triggers_removed AFTER DELETE ON triggers FOR EACH ROW
     WHEN (OLD.deleted_at IS NULL) EXECUTE FUNCTION svc_record_trigger()`,
  `CREATE TRIGGER triggers_changed AFTER UPDATE ON triggers FOR EACH ROW
     WHEN (${isSeen("status", "version", "deleted_at")}) EXECUTE FUNCTION svc_record_trigger()`,
  recorder(
    "svc_record_notification",
    `'notifications', r.org, r.id, r.status, NULL, r.customer_id, NULL,
     CASE WHEN TG_OP = 'UPDATE' AND r.status = 'read' THEN '' END`
  ),
  `CREATE TRIGGER notifications_recorded AFTER INSERT ON notifications
     FOR EACH ROW EXECUTE FUNCTION svc_record_notification()`,
  `CREATE TRIGGER notifications_changed AFTER UPDATE OF status ON notifications FOR EACH ROW
     WHEN (${isSeen("status")}) EXECUTE FUNCTION svc_record_notification()`,
  recorder(
    "svc_record_read",
    `'notifications', r.org, r.notification_id, 'read', NULL,
     (SELECT customer_id FROM notifications WHERE id = r.notification_id), NULL, r.user_id`
  ),
  `CREATE TRIGGER notification_reads_recorded AFTER INSERT ON notification_reads
     FOR EACH ROW EXECUTE FUNCTION svc_record_read()`
)

/** The columns of `svc_committed_changes`, by topic. */
const selects = {
  executions: [
    `SELECT 'executions'::text, t.id, t.status,
       COALESCE(CASE WHEN t.waiting IS NULL THEN t.started_at END, statement_timestamp()), t.org, t.space, t.customer_id,
       t.workflow_id, t.record->>'environment', NULL::text, NULL::text, 0::bigint, t.changed FROM runs t`,
    `SELECT 'executions'::text, t.id, t.status, t.finished_at, t.org, t.space, t.customer_id, t.workflow_id,
       t.record->>'environment', NULL::text, NULL::text, 0::bigint, t.changed FROM executions t`
  ],
  events: [
    `SELECT 'events'::text, t.id, t.status, t.received_at, t.org, t.space, t.customer_id, NULL::text, NULL::text,
       NULL::text, NULL::text, 0::bigint, t.changed FROM events t`,
    `SELECT 'events'::text, t.id, t.status, t.finished_at, t.org, t.space, t.customer_id, NULL::text, NULL::text,
       NULL::text, NULL::text, 0::bigint, t.changed FROM event_records t`
  ],
  others: [
    `SELECT t.topic, t.id, t.status, t.at, t.org, t.space, t.customer_id, NULL::text, NULL::text, t.connector, t.reader,
       t.n, t.changed FROM record_changes t`
  ]
}

const conditions = {
  executions: "'executions' = ANY(topics)",
  events: "'events' = ANY(topics)",
  others: "true"
}
const ofTopic = (kind: keyof typeof selects) => (kind === "others" ? "AND t.topic = ANY(topics)" : "")

const queries = (["executions", "events", "others"] as const).flatMap((kind) =>
  selects[kind].map((select) => ({ kind, select }))
)

/**
 * At most `most` rows of each table, and one more if there are more. It is STABLE, so it reads with the snapshot of the
 * statement that calls it: that statement can return the position of the same snapshot. Sequential scans are off, since the
 * planner cannot estimate how few rows follow a position.
 */
const reading = script(
  `CREATE FUNCTION svc_committed_changes(topics text[], ended xid8, open xid8[], orgs text[], most int)
   RETURNS TABLE (topic text, id text, status text, at timestamptz, org text, space text, customer_id text,
     workflow_id text, environment text, connector text, reader text, n bigint, changed xid8)
   LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
   DECLARE upper xid8 := pg_snapshot_xmax(pg_current_snapshot()); BEGIN
     ${queries
       .map(
         ({ kind, select }) => `IF ${conditions[kind]} THEN
       RETURN QUERY ${select} WHERE t.changed >= ended AND t.changed < upper AND t.org = ANY(orgs) ${ofTopic(kind)} LIMIT most + 1;
       IF cardinality(open) > 0 THEN
         RETURN QUERY ${select} WHERE t.changed = ANY(open) AND t.org = ANY(orgs) ${ofTopic(kind)} LIMIT most + 1;
       END IF;
     END IF;`
       )
       .join("\n     ")}
   END $$`,
  "REVOKE ALL ON FUNCTION svc_committed_changes(text[], xid8, xid8[], text[], int) FROM PUBLIC",
  "GRANT EXECUTE ON FUNCTION svc_committed_changes(text[], xid8, xid8[], text[], int) TO svc_writer"
)

export default columns.pipe(
  Effect.zipRight(recordChanges),
  Effect.zipRight(tenantTable("record_changes", { app: "", writer: "SELECT, DELETE" })),
  Effect.zipRight(reading)
)
