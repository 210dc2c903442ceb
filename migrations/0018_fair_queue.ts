/**
 * The start queue gives events and runs their turns in Postgres: `svc_take_queued` starts runs and leases events. The
 * classes share the starts by their weights; the organisations of a class take turns, so do the customers of an
 * organisation and the lanes of a customer. All state is in tables, so that a restart changes no order.
 *
 * Names: a row that waits is neither held nor leased. A flow is the rows of one customer, '' without one. A lane is the
 * rows of a sequential trigger, which start one after the other. A turn is the name at which the next pick begins.
 */
import { Effect } from "effect"
import { script, tenantTable } from "./policies.js"

const columns = script(
  `ALTER TABLE start_queue DROP COLUMN vtag, ADD COLUMN flow text COLLATE "C" NOT NULL DEFAULT '',
     ADD COLUMN lane text COLLATE "C", ADD COLUMN held boolean NOT NULL DEFAULT false, ADD COLUMN claimed_by text,
     ADD COLUMN claimed_until timestamptz, ADD COLUMN claims int NOT NULL DEFAULT 0`,
  `UPDATE start_queue q SET flow = r.customer_id FROM runs r WHERE r.id = q.id AND r.customer_id IS NOT NULL`,
  `CREATE INDEX start_queue_order ON start_queue (priority, org, flow, (COALESCE(lane, '')), not_before, seq)
     WHERE NOT held AND claimed_by IS NULL`,
  `CREATE INDEX start_queue_lanes ON start_queue (org, lane, seq) WHERE lane IS NOT NULL`,
  `CREATE INDEX start_queue_leases ON start_queue (claimed_by) WHERE claimed_by IS NOT NULL`
)

const tables = script(
  // The executions that occupy a lane: its next row waits for their ends.
  `CREATE TABLE lanes (org text COLLATE "C" NOT NULL, lane text COLLATE "C" NOT NULL,
     execution_id text COLLATE "C" NOT NULL, PRIMARY KEY (org, lane, execution_id))`,
  // `lag`: starts, divided by the weight, by which the class is ahead of the virtual time of the queue, which is that
  // of the last start. A class without waiting rows falls back to 0 and earns no credit.
  `CREATE TABLE queue_classes (priority smallint PRIMARY KEY, weight smallint NOT NULL, lag float8 NOT NULL DEFAULT 0,
     turn text COLLATE "C" NOT NULL DEFAULT '') WITH (fillfactor = 50)`,
  `INSERT INTO queue_classes (priority, weight) VALUES (1, 8), (2, 4), (3, 2), (4, 1)`,
  `GRANT SELECT, UPDATE ON queue_classes TO svc_writer`,
  `CREATE TABLE queue_organisations (priority smallint NOT NULL, org text COLLATE "C" NOT NULL,
     turn text COLLATE "C" NOT NULL, PRIMARY KEY (priority, org)) WITH (fillfactor = 70)`,
  `CREATE TABLE queue_flows (priority smallint NOT NULL, org text COLLATE "C" NOT NULL, flow text COLLATE "C" NOT NULL,
     turn text COLLATE "C" NOT NULL, PRIMARY KEY (priority, org, flow)) WITH (fillfactor = 70)`
)

/**
 * Lists up to `most` names with waiting rows, from `turn` on and around to the names before it. Reads one index entry a
 * name, however many rows wait. \`skipped\`: organisations that cannot start anything, or a class and an organisation.
 */
const nextNames = (level: {
  readonly name: string
  readonly parameters: string
  readonly column: string
  readonly where: string
  readonly order: string
  readonly filter?: string
}) =>
  `CREATE FUNCTION ${level.name}(${level.parameters}, turn text, most int)
   RETURNS SETOF text LANGUAGE plpgsql STABLE AS $$
   DECLARE start text COLLATE "C" := turn; next text COLLATE "C"; wrapped boolean := turn = ''; BEGIN
     WHILE most > 0 LOOP
       SELECT ${level.column} INTO next FROM start_queue q WHERE NOT q.held AND q.claimed_by IS NULL AND ${level.where}
         AND ${level.column} >= start ORDER BY ${level.order}, ${level.column} LIMIT 1;
       IF FOUND AND NOT (wrapped AND turn <> '' AND next >= turn) THEN
         ${level.filter === undefined ? "" : `IF ${level.filter} THEN`}
         RETURN NEXT next; most := most - 1;
         ${level.filter === undefined ? "" : "END IF;"}
         start := next || chr(1);
       ELSIF wrapped THEN RETURN;
       ELSE wrapped := true; start := '';
       END IF;
     END LOOP; END $$`

const listing = script(
  nextNames({
    name: "svc_waiting_organisations",
    parameters: "class smallint, skipped text[]",
    column: "q.org",
    where: "q.priority = class",
    order: "q.priority",
    filter: "next <> ALL (skipped) AND class || ' ' || next <> ALL (skipped)"
  }),
  nextNames({
    name: "svc_waiting_flows",
    parameters: "class smallint, organisation text",
    column: "q.flow",
    where: "q.priority = class AND q.org = organisation",
    order: "q.priority, q.org"
  })
)

const picking = script(
  // The row of a lane that may start: its first one, unless it is held or leased, or an execution occupies the lane.
  `CREATE FUNCTION svc_lane_head(class smallint, organisation text, customer text, name text, shards int[])
   RETURNS bigint LANGUAGE plpgsql STABLE AS $$ BEGIN
     RETURN (SELECT h.seq FROM (SELECT * FROM start_queue q WHERE q.org = organisation AND q.lane = name
         ORDER BY q.org, q.lane, q.seq LIMIT 1) h
       WHERE h.priority = class AND h.flow = customer AND NOT h.held AND h.claimed_by IS NULL
         AND h.not_before <= now() AND h.shard = ANY (shards) AND NOT EXISTS (SELECT FROM lanes b
           WHERE b.org = organisation AND b.lane = name AND b.execution_id <> h.id)); END $$`,
  // Lists up to `most` lanes of a flow that have a row that may start, and that row. The lane '' stands for the rows
  // without a lane. After 500 lanes it ends with the name, without a row, at which to continue.
  `CREATE FUNCTION svc_open_lanes(class smallint, organisation text, customer text, shards int[], turn text, most int)
   RETURNS TABLE (name text, head bigint) LANGUAGE plpgsql STABLE AS $$
   DECLARE start text COLLATE "C" := turn; next text COLLATE "C"; wrapped boolean := turn = ''; i int := 0; BEGIN
     WHILE most > 0 LOOP
       SELECT COALESCE(q.lane, '') INTO next FROM start_queue q WHERE NOT q.held AND q.claimed_by IS NULL
         AND q.priority = class AND q.org = organisation AND q.flow = customer AND COALESCE(q.lane, '') >= start
         ORDER BY q.priority, q.org, q.flow, COALESCE(q.lane, '') LIMIT 1;
       IF FOUND AND NOT (wrapped AND turn <> '' AND next >= turn) THEN
         i := i + 1;
         name := next;
         IF i > 500 THEN
           head := NULL; RETURN NEXT; RETURN;
         END IF;
         head := CASE WHEN next = '' THEN 0 ELSE svc_lane_head(class, organisation, customer, next, shards) END;
         IF head IS NOT NULL THEN
           RETURN NEXT; most := most - 1;
         END IF;
         start := next || chr(1);
       ELSIF wrapped THEN RETURN;
       ELSE wrapped := true; start := '';
       END IF;
     END LOOP; END $$`,
  // Picks up to `want` rows of a flow: those without a lane by their times, and heads of lanes, in turn.
  `CREATE FUNCTION svc_pick_flow(class smallint, organisation text, customer text, shards int[], want int)
   RETURNS bigint[] LANGUAGE plpgsql AS $$
   DECLARE turn_at text; next_turn text; names text[] := '{""}'; heads bigint[] := '{0}'; picked bigint[] := '{}';
     k int := 1; BEGIN
     IF EXISTS (SELECT FROM start_queue q WHERE NOT q.held AND q.claimed_by IS NULL AND q.priority = class
         AND q.org = organisation AND q.flow = customer AND COALESCE(q.lane, '') > '') THEN
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
     RETURN picked; END $$`,
  // Picks up to `want` rows of an organisation, from its flows in turn. If none of the flows whose turn it is has a row
  // that may start, the first of the others that has one.
  `CREATE FUNCTION svc_pick_organisation(class smallint, organisation text, shards int[], want int)
   RETURNS bigint[] LANGUAGE plpgsql AS $$
   DECLARE turn_at text; next_turn text; flows text[]; picked bigint[] := '{}'; k int; BEGIN
     SELECT o.turn INTO turn_at FROM queue_organisations o WHERE o.priority = class AND o.org = organisation;
     flows := ARRAY(SELECT svc_waiting_flows(class, organisation, COALESCE(turn_at, ''), want + 1));
     k := LEAST(cardinality(flows), want);
     FOR i IN 1..k LOOP
       picked := picked || svc_pick_flow(class, organisation, flows[i], shards, want / k + (i <= want % k)::int);
     END LOOP;
     IF cardinality(flows) > want OR (cardinality(picked) = want AND want % k > 0) THEN
       next_turn := flows[want % cardinality(flows) + 1];
     END IF;
     IF cardinality(picked) = 0 AND cardinality(flows) > want THEN
       flows := ARRAY(SELECT svc_waiting_flows(class, organisation, next_turn, 256));
       FOR i IN 1..cardinality(flows) LOOP
         next_turn := flows[i % cardinality(flows) + 1];
         picked := svc_pick_flow(class, organisation, flows[i], shards, want);
         EXIT WHEN cardinality(picked) > 0;
       END LOOP;
     END IF;
     IF next_turn IS NOT NULL THEN
       INSERT INTO queue_organisations AS o (priority, org, turn) VALUES (class, organisation, next_turn)
         ON CONFLICT (priority, org) DO UPDATE SET turn = excluded.turn;
     END IF;
     RETURN picked; END $$`
)

/**
 * Takes up to `slots` rows of `shards`: starts runs, and leases events to `node`. `busy`, `busy_counts`: organisations
 * with work in progress, and how much; `plans`, `plan_limits`: how much each plan allows at
 * once. A last row without a
 * run and without an event says that rows were passed over because of these limits. The assignments to a run are those
 * of `evolve` for `Started`.
 *
 * Its plans must not depend on statistics: those of a queue that was empty a moment ago would scan the whole table.
 */
const taking = script(
  `CREATE FUNCTION svc_take_queued(shards int[], slots int, node text, lease interval, busy text[], busy_counts int[],
     plans text[], plan_limits int[])
   RETURNS TABLE (run runs, event text, org text, priority smallint, shard int, claims int, lane text) LANGUAGE plpgsql
   SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan SET jit = off AS $$
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
       JOIN unnest(plans, plan_limits) AS l (plan, most) ON l.plan = o.plan WHERE b.n >= l.most);
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
       RETURN QUERY WITH started AS (
           SELECT r.id FROM start_queue q JOIN runs r ON r.id = q.id
           WHERE q.seq = ANY (picked) AND starts_with(q.id, 'exec_') FOR UPDATE OF r SKIP LOCKED
         ), gone AS (DELETE FROM start_queue q USING started s WHERE q.id = s.id)
         UPDATE runs r SET status = 'running', started_at = COALESCE(r.started_at, now()), epoch = r.epoch + 1,
           activations = 1, wake_at = now(), deadline_at = CASE WHEN r.started_at IS NULL
             AND (r.tier <> 'instant' OR r.record->'event' IS NOT NULL)
             THEN now() + (r.record->>'ceilingMillis')::float8 * interval '1 millisecond' ELSE r.deadline_at END
         FROM started s WHERE r.id = s.id RETURNING r, NULL, r.org, r.priority, r.shard, NULL::int, NULL;
       RETURN QUERY WITH leased AS (
           SELECT q.seq FROM start_queue q
           WHERE q.seq = ANY (picked) AND NOT starts_with(q.id, 'exec_') FOR UPDATE SKIP LOCKED)
         UPDATE start_queue q SET claimed_by = node, claimed_until = now() + lease, claims = q.claims + 1
         FROM leased l WHERE q.seq = l.seq RETURNING NULL::runs, q.id, q.org, q.priority, q.shard, q.claims, q.lane;
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

const policies = Effect.all([
  tenantTable("lanes", { app: "", writer: "SELECT, INSERT, DELETE" }),
  tenantTable("queue_organisations", { app: "", writer: "SELECT, INSERT, UPDATE, DELETE" }),
  tenantTable("queue_flows", { app: "", writer: "SELECT, INSERT, UPDATE, DELETE" })
])

export default Effect.all([columns, tables, policies, listing, picking, taking])
