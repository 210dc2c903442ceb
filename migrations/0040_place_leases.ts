/**
 * The places that nodes of a cluster hold: how much of a kind each may have at once in an organisation. What a node holds
 * stays counted for 5 s after its seat is gone, since others may go on with what it had begun.
 */
import { script } from "./policies.js"

export default script(
  `CREATE TABLE place_leases (
     kind text COLLATE "C" NOT NULL,
     org text COLLATE "C" NOT NULL,
     seat text COLLATE "C" NOT NULL,
     held integer NOT NULL CHECK (held >= 0),
     -- Of the seat's last request that was granted: an earlier one that arrives later changes nothing.
     turn bigint NOT NULL,
     ends_at timestamptz,
     PRIMARY KEY (kind, org, seat)
   ) WITH (fillfactor = 50)`,
  "CREATE INDEX place_leases_held ON place_leases (kind) WHERE held > 0",
  "GRANT SELECT, INSERT, UPDATE, DELETE ON place_leases TO svc_writer",
  `CREATE FUNCTION svc_end_places() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
     DELETE FROM place_leases l WHERE l.ends_at < now() OR (l.seat = OLD.id AND l.held = 0);
     UPDATE place_leases l SET ends_at = now() + interval '5 seconds' WHERE l.seat = OLD.id;
     RETURN NULL; END $$`,
  "CREATE TRIGGER nodes_end_places AFTER DELETE ON nodes FOR EACH ROW EXECUTE FUNCTION svc_end_places()",
  // Serial with the picks of the start queue, which take places too: each sees what the one before was granted.
  `CREATE FUNCTION svc_hold_places(of_kind text, organisation text, holder text, its_turn bigint, used int, wanted int,
     most int) RETURNS int LANGUAGE plpgsql AS $$
   DECLARE others int; granted int; BEGIN
     PERFORM pg_advisory_xact_lock(CASE WHEN of_kind = 'runs' THEN hashtext('svc_take_queued')
       ELSE hashtextextended(of_kind || ' ' || organisation, 8) END);
     PERFORM FROM nodes n WHERE n.id = holder;
     IF NOT FOUND THEN RETURN NULL; END IF;
     SELECT COALESCE(sum(l.held), 0) INTO others FROM place_leases l WHERE l.kind = of_kind AND l.org = organisation
       AND l.seat <> holder AND (l.ends_at IS NULL OR l.ends_at > clock_timestamp());
     INSERT INTO place_leases AS l (kind, org, seat, held, turn)
       VALUES (of_kind, organisation, holder, GREATEST(used, LEAST(wanted, most - others)), its_turn)
       ON CONFLICT (kind, org, seat) DO UPDATE SET held = excluded.held, turn = excluded.turn WHERE l.turn < excluded.turn
       RETURNING l.held INTO granted;
     RETURN granted; END $$`,
  // As svc_take_queued, for a node of a cluster: what others hold is in progress too, and what is taken is held.
  `CREATE FUNCTION svc_take_queued_in_cluster(shards int[], slots int, node text, lease interval, busy text[],
     busy_counts int[], plans text[], plan_limits int[], holder text, its_turn bigint)
   RETURNS TABLE (run runs, event text, org text, priority smallint, shard int, claims int, lane text) LANGUAGE plpgsql AS $$
   #variable_conflict use_column
   DECLARE all_busy text[]; all_counts int[]; taken text[] := '{}'; found record; BEGIN
     PERFORM pg_advisory_xact_lock(hashtext('svc_take_queued'));
     SELECT array_agg(s.org), array_agg(s.n) INTO all_busy, all_counts FROM (
       SELECT b.org, sum(b.n)::int AS n FROM (
         SELECT o.org, o.n FROM unnest(busy, busy_counts) AS o (org, n)
         UNION ALL SELECT l.org, l.held FROM place_leases l WHERE l.kind = 'runs' AND l.held > 0 AND l.seat <> holder
           AND (l.ends_at IS NULL OR l.ends_at > clock_timestamp())) b GROUP BY b.org) s;
     FOR found IN SELECT t.* FROM svc_take_queued(shards, slots, node, lease, COALESCE(all_busy, '{}'),
         COALESCE(all_counts, '{}'), plans, plan_limits) t LOOP
       run := found.run; event := found.event; org := found.org; priority := found.priority; shard := found.shard;
       claims := found.claims; lane := found.lane;
       IF COALESCE(event, run.id) IS NOT NULL THEN taken := taken || COALESCE(org, run.org); END IF;
       RETURN NEXT;
     END LOOP;
     INSERT INTO place_leases AS l (kind, org, seat, held, turn)
       SELECT 'runs', t.org, holder, count(*)::int + COALESCE(
           (SELECT sum(o.n)::int FROM unnest(busy, busy_counts) AS o (org, n) WHERE o.org = t.org), 0), its_turn
         FROM unnest(taken) AS t (org) WHERE EXISTS (SELECT FROM nodes n WHERE n.id = holder) GROUP BY t.org
       ON CONFLICT (kind, org, seat) DO UPDATE SET held = excluded.held, turn = excluded.turn WHERE l.turn < excluded.turn;
     END $$`
)
