/**
 * The plans of the start queue's functions do not depend on the statistics of the table: a connection keeps its plans, and
 * one that was made while the queue was short read all rows of `start_queue_times` for each customer, 2 seconds a pick of
 * 100,000 rows. Where an index has the order that a query names, no other one is used; and rows are found by arrays of
 * their keys, which no plan turns into a join over the whole table. Rows of suspended organisations stay where they are.
 */
import { Effect } from "effect"
import { script } from "./policies.js"

const pickFlow = script(
  // Picks up to `want` rows of a flow: those without a lane by their times, and heads of lanes, in turn.
  `CREATE OR REPLACE FUNCTION svc_pick_flow(class smallint, organisation text, customer text, shards int[], want int)
   RETURNS bigint[] LANGUAGE plpgsql AS $$
   DECLARE turn_at text; next_turn text; names text[] := '{""}'; heads bigint[] := '{0}'; picked bigint[] := '{}';
     k int := 1; BEGIN
     PERFORM FROM start_queue q WHERE NOT q.held AND q.claimed_by IS NULL AND q.priority = class
       AND q.org = organisation AND q.flow = customer AND COALESCE(q.lane, '') > ''
       ORDER BY q.priority, q.org, q.flow, COALESCE(q.lane, '') LIMIT 1;
     IF FOUND THEN
       SELECT f.turn INTO turn_at FROM queue_flows f
         WHERE f.priority = class AND f.org = organisation AND f.flow = customer;
       SELECT array_agg(l.name ORDER BY l.nth) FILTER (WHERE l.head IS NOT NULL),
           array_agg(l.head ORDER BY l.nth) FILTER (WHERE l.head IS NOT NULL),
           max(l.name) FILTER (WHERE l.head IS NULL) INTO names, heads, next_turn
         FROM svc_open_lanes(class, organisation, customer, shards, COALESCE(turn_at, ''), want + 1)
           WITH ORDINALITY AS l (name, head, nth);
       k := LEAST(cardinality(names), want);
     END IF;
     FOR i IN 1..COALESCE(k, 0) LOOP
       IF names[i] = '' THEN
         picked := picked || ARRAY(SELECT q.seq FROM start_queue q WHERE NOT q.held AND q.claimed_by IS NULL
           AND q.priority = class AND q.org = organisation AND q.flow = customer AND COALESCE(q.lane, '') = ''
           AND q.not_before <= now() AND q.shard = ANY (shards)
           ORDER BY q.priority, q.org, q.flow, COALESCE(q.lane, ''), q.not_before, q.seq
           LIMIT want / k + (i <= want % k)::int);
       ELSE picked := picked || heads[i];
       END IF;
     END LOOP;
     IF cardinality(names) > want OR (cardinality(picked) = want AND want % k > 0) THEN
       next_turn := names[want % cardinality(names) + 1];
     END IF;
     IF next_turn IS NOT NULL THEN
       INSERT INTO queue_flows AS f (priority, org, flow, turn) VALUES (class, organisation, customer, next_turn)
         ON CONFLICT (priority, org, flow) DO UPDATE SET turn = excluded.turn;
     END IF;
     RETURN picked; END $$`
)

const settings = ["enable_seqscan", "enable_bitmapscan", "enable_sort", "enable_incremental_sort", "jit"]
  .map((name) => `SET ${name} = off`)
  .concat("SET plan_cache_mode = force_generic_plan")
  .join(" ")

const taking = script(
  `CREATE INDEX organisations_suspended ON organisations (id) WHERE status <> 'active'`,
  `ALTER FUNCTION svc_waiting_organisations(smallint, text[], text, int) ${settings}`,
  `CREATE OR REPLACE FUNCTION svc_take_queued(shards int[], slots int, node text, lease interval, busy text[], busy_counts int[],
     plans text[], plan_limits int[])
   RETURNS TABLE (run runs, event text, org text, priority smallint, shard int, claims int, lane text) LANGUAGE plpgsql
   ${settings} AS $$
   #variable_conflict use_column
   DECLARE remaining int := slots; starts int[] := '{0,0,0,0}'; skipped text[]; orgs text[]; rooms int[]; class record;
     picked bigint[]; part bigint[]; k int; want int; given int; visited int; idle smallint[] := '{}';
     passed_over boolean := false; virtual_time float8; BEGIN
     -- Picks are serial over all nodes, so that each knows the turns of the one before. A statement of this function
     -- sees what was committed before the statement began.
     PERFORM pg_advisory_xact_lock(hashtext('svc_take_queued'));
     UPDATE start_queue SET claimed_by = NULL, claimed_until = NULL WHERE seq = ANY (ARRAY(
       SELECT seq FROM start_queue WHERE claimed_by IS NOT NULL AND claimed_until <= now() FOR UPDATE SKIP LOCKED));
     skipped := ARRAY(SELECT b.org FROM unnest(busy, busy_counts) AS b (org, n) JOIN organisations o ON o.id = b.org
       JOIN unnest(plans, plan_limits) AS l (plan, most) ON l.plan = o.plan WHERE b.n >= l.most)
       || ARRAY(SELECT o.id FROM organisations o WHERE o.status <> 'active' ORDER BY o.id);
     -- A round divides the slots as if everyone had enough waiting rows; the next round divides what is left over.
     FOR round IN 1..8 LOOP
       picked := '{}';
       -- The classes pick in a random order by their weights, so that a class that is always served last cannot lose
       -- the only free slot of an organisation at its limit to the others for ever.
       FOR class IN
         WITH share AS (
           SELECT c.priority, c.weight, c.turn, c.lag + (starts[c.priority] + i)::float8 / c.weight AS tag
           FROM queue_classes c CROSS JOIN generate_series(0, remaining - 1) AS i
           WHERE c.priority <> ALL (idle)
             AND EXISTS (SELECT FROM svc_waiting_organisations(c.priority, skipped, '', 1))
           ORDER BY tag, c.priority LIMIT remaining)
         SELECT s.priority, s.turn, count(*)::int AS want FROM share s GROUP BY s.priority, s.weight, s.turn
         ORDER BY -ln(1 - random()) / s.weight
       LOOP
         orgs := ARRAY(SELECT svc_waiting_organisations(
           class.priority, skipped, class.turn, GREATEST(class.want, 16) + 1));
         k := LEAST(cardinality(orgs), class.want);
         given := 0;
         visited := 0;
         rooms := ARRAY(SELECT l.most - COALESCE(b.n, 0) FROM unnest(orgs) WITH ORDINALITY AS w (org, nth)
           LEFT JOIN (SELECT u.org, sum(u.n)::int AS n FROM unnest(busy, busy_counts) AS u (org, n) GROUP BY u.org) b
             ON b.org = w.org
           LEFT JOIN organisations o ON o.id = w.org
           LEFT JOIN unnest(plans, plan_limits) AS l (plan, most) ON l.plan = o.plan ORDER BY w.nth);
         -- Further organisations, beyond those whose turn it is, stand in for those without rows that may start.
         WHILE visited < cardinality(orgs) AND given < class.want LOOP
           visited := visited + 1;
           want := LEAST(CASE WHEN visited <= k THEN class.want / k + (visited <= class.want % k)::int ELSE 1 END,
             rooms[visited]);
           part := svc_pick_organisation(class.priority, orgs[visited], shards, want);
           IF cardinality(part) = 0 THEN
             skipped := skipped || (class.priority || ' ' || orgs[visited]);
             CONTINUE;
           END IF;
           picked := picked || part;
           given := given + cardinality(part);
           busy := busy || orgs[visited];
           busy_counts := busy_counts || cardinality(part);
           IF cardinality(part) = rooms[visited] THEN
             skipped := skipped || orgs[visited];
             passed_over := true;
           END IF;
         END LOOP;
         starts[class.priority] := starts[class.priority] + given;
         IF given = 0 THEN idle := idle || class.priority; END IF;
         IF visited < cardinality(orgs) THEN
           UPDATE queue_classes c SET turn = orgs[visited + 1] WHERE c.priority = class.priority;
         ELSIF given = class.want AND class.want % NULLIF(k, 0) > 0 THEN
           UPDATE queue_classes c SET turn = orgs[class.want % k + 1] WHERE c.priority = class.priority;
         END IF;
       END LOOP;
       EXIT WHEN NOT FOUND;
       CONTINUE WHEN cardinality(picked) = 0;
       remaining := remaining - cardinality(picked);
       -- Runs are locked before their queue rows, as a flush does that ends a queued run.
       RETURN QUERY WITH started AS MATERIALIZED (
           SELECT r.id FROM runs r WHERE r.id = ANY (ARRAY(
             SELECT q.id FROM start_queue q WHERE q.seq = ANY (picked) AND left(q.id, 5) = 'exec_'))
           FOR UPDATE SKIP LOCKED
         ), gone AS (DELETE FROM start_queue q WHERE q.id = ANY (ARRAY(SELECT s.id FROM started s)))
         UPDATE runs r SET status = 'running', started_at = COALESCE(r.started_at, now()), epoch = r.epoch + 1,
           activations = 1, wake_at = now(), deadline_at = CASE WHEN r.started_at IS NULL
             AND (r.tier <> 'instant' OR r.record->'event' IS NOT NULL)
             THEN now() + (r.record->>'ceilingMillis')::float8 * interval '1 millisecond' ELSE r.deadline_at END
         WHERE r.id = ANY (ARRAY(SELECT s.id FROM started s))
         RETURNING r, NULL, r.org, r.priority, r.shard, NULL::int, NULL;
       RETURN QUERY WITH leased AS MATERIALIZED (
           SELECT q.seq FROM start_queue q
           WHERE q.seq = ANY (picked) AND left(q.id, 5) <> 'exec_' FOR UPDATE SKIP LOCKED)
         UPDATE start_queue q SET claimed_by = node, claimed_until = now() + lease, claims = q.claims + 1
         WHERE q.seq = ANY (ARRAY(SELECT l.seq FROM leased l))
         RETURNING NULL::runs, q.id, q.org, q.priority, q.shard, q.claims, q.lane;
       EXIT WHEN remaining = 0;
     END LOOP;
     IF remaining = 0 THEN
       SELECT max(c.lag + (starts[c.priority] - 1)::float8 / c.weight) INTO virtual_time
         FROM queue_classes c WHERE starts[c.priority] > 0;
       UPDATE queue_classes c SET lag = GREATEST(c.lag + starts[c.priority]::float8 / c.weight - virtual_time, 0)
         WHERE c.lag <> GREATEST(c.lag + starts[c.priority]::float8 / c.weight - virtual_time, 0);
     ELSIF passed_over THEN
       RETURN QUERY SELECT NULL::runs, NULL, NULL, NULL::smallint, NULL::int, NULL::int, NULL;
     END IF; END $$`
)

export default Effect.all([pickFlow, taking])
