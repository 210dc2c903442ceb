/**
 * Organisations with a parent. An account is an organisation without a parent, with those whose parent it is: the plan of
 * the first is that of all, and limits what they use together. A plan and a suspension follow the parent at once.
 */
import { Effect } from "effect"
import { script, tenantTable } from "./policies.js"

const ofOrganisation = "current_setting('svc.org', true)"
/** An organisation sees itself and those whose parent it is. */
const reached = `id = ${ofOrganisation} OR parent_id = ${ofOrganisation}`

const organisations = script(
  // own_status: the state that a suspended parent hides.
  "ALTER TABLE organisations ADD COLUMN own_status text",
  "CREATE INDEX organisations_parent ON organisations (parent_id, id) WHERE parent_id IS NOT NULL",
  `ALTER POLICY organisations_app ON organisations USING (${reached}) WITH CHECK (${reached})`,
  `CREATE FUNCTION svc_follow_parent() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   BEGIN
     UPDATE organisations o SET plan = NEW.plan, version = o.version + 1, updated_at = NEW.updated_at,
       own_status = CASE WHEN NEW.status = 'active' THEN NULL ELSE COALESCE(o.own_status, o.status) END,
       status = CASE WHEN NEW.status = 'active' THEN COALESCE(o.own_status, o.status) ELSE NEW.status END
       WHERE o.parent_id = NEW.id;
     RETURN NULL; END $$`,
  `CREATE TRIGGER organisations_follow AFTER UPDATE OF plan, status ON organisations FOR EACH ROW
     WHEN (NEW.parent_id IS NULL AND (OLD.plan, OLD.status) IS DISTINCT FROM (NEW.plan, NEW.status))
     EXECUTE FUNCTION svc_follow_parent()`,
  `CREATE FUNCTION svc_account(organisation text) RETURNS text LANGUAGE sql STABLE
     RETURN COALESCE((SELECT o.parent_id FROM organisations o WHERE o.id = organisation), organisation)`,
  `CREATE FUNCTION svc_members(account text) RETURNS SETOF text LANGUAGE sql STABLE ROWS 4
     BEGIN ATOMIC SELECT account UNION ALL SELECT o.id FROM organisations o WHERE o.parent_id = account; END`
)

/**
 * How much of what its plan limits the account of the request's organisation has. Of what each organisation or customer may
 * have as much, the most that one has.
 */
const uses: { readonly [stock: string]: string } = {
  active_integrations: "SELECT count(*) FROM installations x WHERE x.org = ANY (members) AND x.status = 'active'",
  triggers: "SELECT count(*) FROM triggers x WHERE x.org = ANY (members) AND x.deleted_at IS NULL",
  organisation_api_keys:
    "SELECT count(*) FROM api_keys x WHERE x.org = ANY (members) AND x.revoked_at IS NULL AND x.customers_mode = 'all'",
  messages: `SELECT sum(x.targets) FROM notifications x
     WHERE x.org = ANY (members) AND x.created_at >= date_trunc('hour', now()) AND x.channel <> 'in_app'`,
  flows_per_tenant: `SELECT max(n) FROM (SELECT count(*) AS n FROM workflows x WHERE x.org = ANY (members)
     AND x.deleted_at IS NULL AND x.status IN ('draft', 'published') GROUP BY x.org, x.customer_id) y`,
  connectors_per_tenant: `SELECT max(n) FROM (SELECT count(*) AS n FROM connectors x WHERE x.org = ANY (members)
     AND x.deleted_at IS NULL GROUP BY x.org) y`
}

const use = script(
  `CREATE FUNCTION svc_account_use(stock text) RETURNS int LANGUAGE plpgsql STABLE SECURITY DEFINER
     SET search_path = public, pg_temp AS $$
   DECLARE members text[] := ARRAY(SELECT svc_members(svc_account(${ofOrganisation}))); used bigint; BEGIN
     CASE stock ${Object.entries(uses)
       .map(([stock, sql]) => `WHEN '${stock}' THEN used := (${sql});`)
       .join(" ")}
     END CASE;
     RETURN COALESCE(used, 0); END $$`,
  "REVOKE ALL ON FUNCTION svc_account_use(text) FROM PUBLIC",
  "GRANT EXECUTE ON FUNCTION svc_account_use(text) TO svc_app"
)

const settings = ["enable_seqscan", "enable_bitmapscan", "enable_sort", "enable_incremental_sort", "jit"]
  .map((name) => `SET ${name} = off`)
  .concat("SET plan_cache_mode = force_generic_plan")
  .join(" ")

const queue = script(
  // Organisations that can start nothing now: those of accounts that are at their limit, and suspended ones.
  `CREATE FUNCTION svc_full_organisations(busy text[], busy_counts int[], plans text[], plan_limits int[])
   RETURNS SETOF text LANGUAGE sql STABLE ${settings} AS $$
     SELECT svc_members(a.id) FROM unnest(busy, busy_counts) AS b (account, n) JOIN organisations a ON a.id = b.account
       JOIN unnest(plans, plan_limits) AS l (plan, most) ON l.plan = a.plan WHERE b.n >= l.most
     UNION ALL SELECT o.id FROM organisations o WHERE o.status <> 'active' $$`,
  // As before, but `most` counts accounts: an account with many organisations does not crowd out the others.
  `CREATE OR REPLACE FUNCTION svc_waiting_organisations(class smallint, skipped text[], turn text, most int)
   RETURNS SETOF text LANGUAGE plpgsql STABLE ${settings} AS $$
   DECLARE start text COLLATE "C" := turn; next text COLLATE "C"; wrapped boolean := turn = ''; seen text[] := '{}';
     account text; further int := 0;
     any_child boolean := EXISTS (SELECT FROM organisations o WHERE o.parent_id IS NOT NULL); BEGIN
     WHILE most > 0 AND further < 400 LOOP
       SELECT q.org INTO next FROM start_queue q WHERE NOT q.held AND q.claimed_by IS NULL AND q.priority = class
         AND q.org >= start ORDER BY q.priority, q.org LIMIT 1;
       IF FOUND AND NOT (wrapped AND turn <> '' AND next >= turn) THEN
         IF next <> ALL (skipped) AND class || ' ' || next <> ALL (skipped) THEN
           RETURN NEXT next;
           IF any_child THEN account := svc_account(next); ELSE account := next; END IF;
           IF account = next THEN most := most - 1;
           ELSIF account = ANY (seen) THEN further := further + 1;
           ELSE
             seen := seen || account; most := most - 1;
           END IF;
         END IF;
         start := next || chr(1);
       ELSIF wrapped THEN RETURN;
       ELSE wrapped := true; start := '';
       END IF;
     END LOOP; END $$`,
  // `busy`: accounts with work in progress. The slots of a class are divided by accounts, and within an account by its
  // organisations, of which chance decides who has one more.
  `CREATE OR REPLACE FUNCTION svc_take_queued(shards int[], slots int, node text, lease interval, busy text[], busy_counts int[],
     plans text[], plan_limits int[])
   RETURNS TABLE (run runs, event text, org text, priority smallint, shard int, claims int, lane text) LANGUAGE plpgsql
   ${settings} AS $$
   #variable_conflict use_column
   DECLARE remaining int := slots; starts int[] := '{0,0,0,0}'; skipped text[]; orgs text[]; accounts text[]; rooms int[];
     ranks int[]; members int[]; places int[]; class record; picked bigint[]; part bigint[]; k int; share int; want int;
     given int; visited int; chance int; idle smallint[] := '{}'; passed_over boolean := false; virtual_time float8; BEGIN
     -- Picks are serial over all nodes, so that each knows the turns of the one before. A statement of this function
     -- sees what was committed before the statement began.
     PERFORM pg_advisory_xact_lock(hashtext('svc_take_queued'));
     UPDATE start_queue SET claimed_by = NULL, claimed_until = NULL WHERE seq = ANY (ARRAY(
       SELECT seq FROM start_queue WHERE claimed_by IS NOT NULL AND claimed_until <= now() FOR UPDATE SKIP LOCKED));
     skipped := ARRAY(SELECT svc_full_organisations(busy, busy_counts, plans, plan_limits));
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
         SELECT array_agg(x.account ORDER BY x.nth), array_agg(x.room ORDER BY x.nth), array_agg(x.rank ORDER BY x.nth),
             array_agg(x.members ORDER BY x.nth), array_agg(x.place ORDER BY x.nth)
           INTO accounts, rooms, ranks, members, places
           FROM (SELECT y.*, dense_rank() OVER (ORDER BY y.first)::int AS rank FROM (
             SELECT w.nth, w.account, l.most - COALESCE(b.n, 0) AS room, min(w.nth) OVER of_account AS first,
               (count(*) OVER of_account)::int AS members, (row_number() OVER (of_account ORDER BY w.nth))::int AS place
             FROM (SELECT u.nth, u.org, COALESCE(o.parent_id, u.org) AS account, o.plan
               FROM unnest(orgs) WITH ORDINALITY AS u (org, nth) LEFT JOIN organisations o ON o.id = u.org) w
             LEFT JOIN (SELECT u.account, sum(u.n)::int AS n FROM unnest(busy, busy_counts) AS u (account, n)
               GROUP BY u.account) b ON b.account = w.account
             LEFT JOIN unnest(plans, plan_limits) AS l (plan, most) ON l.plan = w.plan
             WINDOW of_account AS (PARTITION BY w.account)) y) x;
         k := LEAST((SELECT max(r) FROM unnest(ranks) AS r), class.want);
         given := 0;
         visited := 0;
         chance := floor(random() * 1000);
         -- Further organisations, beyond those whose turn it is, stand in for those without rows that may start.
         WHILE visited < cardinality(orgs) AND given < class.want LOOP
           visited := visited + 1;
           share := CASE WHEN ranks[visited] <= k THEN class.want / k + (ranks[visited] <= class.want % k)::int ELSE 1 END;
           want := LEAST(rooms[visited], share / members[visited]
             + ((places[visited] + chance) % members[visited] < share % members[visited])::int);
           CONTINUE WHEN want < 1;
           part := svc_pick_organisation(class.priority, orgs[visited], shards, want);
           IF cardinality(part) = 0 THEN
             skipped := skipped || (class.priority || ' ' || orgs[visited]);
             CONTINUE;
           END IF;
           picked := picked || part;
           given := given + cardinality(part);
           busy := busy || accounts[visited];
           busy_counts := busy_counts || cardinality(part);
           IF cardinality(part) = rooms[visited] THEN
             skipped := skipped || ARRAY(SELECT svc_members(accounts[visited]));
             passed_over := true;
           END IF;
           IF members[visited] > 1 THEN
             FOR i IN visited + 1..cardinality(orgs) LOOP
               IF accounts[i] = accounts[visited] THEN rooms[i] := rooms[i] - cardinality(part); END IF;
             END LOOP;
           END IF;
         END LOOP;
         starts[class.priority] := starts[class.priority] + given;
         IF given = 0 THEN idle := idle || class.priority; END IF;
         IF visited < cardinality(orgs) THEN
           UPDATE queue_classes c SET turn = orgs[visited + 1] WHERE c.priority = class.priority;
         ELSIF given = class.want AND class.want % NULLIF(k, 0) > 0 THEN
           UPDATE queue_classes c SET turn = orgs[array_position(ranks, class.want % k + 1)]
             WHERE c.priority = class.priority;
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
     END IF; END $$`,
  // As before: what the account holds on other nodes is in progress too.
  `CREATE OR REPLACE FUNCTION svc_take_queued_in_cluster(shards int[], slots int, node text, lease interval, busy text[],
     busy_counts int[], plans text[], plan_limits int[], holder text, its_turn bigint)
   RETURNS TABLE (run runs, event text, org text, priority smallint, shard int, claims int, lane text) LANGUAGE plpgsql AS $$
   #variable_conflict use_column
   DECLARE all_busy text[]; all_counts int[]; taken text[] := '{}'; found record; BEGIN
     PERFORM pg_advisory_xact_lock(hashtext('svc_take_queued'));
     SELECT array_agg(s.account), array_agg(s.n) INTO all_busy, all_counts FROM (
       SELECT b.account, sum(b.n)::int AS n FROM (
         SELECT o.account, o.n FROM unnest(busy, busy_counts) AS o (account, n)
         UNION ALL SELECT l.org, l.held FROM place_leases l WHERE l.kind = 'runs' AND l.held > 0 AND l.seat <> holder
           AND (l.ends_at IS NULL OR l.ends_at > clock_timestamp())) b GROUP BY b.account) s;
     FOR found IN SELECT t.* FROM svc_take_queued(shards, slots, node, lease, COALESCE(all_busy, '{}'),
         COALESCE(all_counts, '{}'), plans, plan_limits) t LOOP
       run := found.run; event := found.event; org := found.org; priority := found.priority; shard := found.shard;
       claims := found.claims; lane := found.lane;
       IF COALESCE(event, run.id) IS NOT NULL THEN taken := taken || svc_account(COALESCE(org, run.org)); END IF;
       RETURN NEXT;
     END LOOP;
     INSERT INTO place_leases AS l (kind, org, seat, held, turn)
       SELECT 'runs', t.account, holder, count(*)::int + COALESCE(
           (SELECT sum(o.n)::int FROM unnest(busy, busy_counts) AS o (account, n) WHERE o.account = t.account), 0), its_turn
         FROM unnest(taken) AS t (account) WHERE EXISTS (SELECT FROM nodes n WHERE n.id = holder) GROUP BY t.account
       ON CONFLICT (kind, org, seat) DO UPDATE SET held = excluded.held, turn = excluded.turn WHERE l.turn < excluded.turn;
     END $$`
)

const groups = script(
  // A list whose items can be looked for.
  "ALTER TABLE users ADD COLUMN team_names text[] NOT NULL DEFAULT '{}'",
  "UPDATE users SET team_names = ARRAY(SELECT jsonb_array_elements_text(teams)) WHERE teams <> '[]'",
  "ALTER TABLE users DROP COLUMN teams",
  "ALTER TABLE users RENAME COLUMN team_names TO teams",
  `CREATE TABLE teams (
     id text COLLATE "C" PRIMARY KEY, org text COLLATE "C" NOT NULL REFERENCES organisations, name text NOT NULL,
     created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now(),
     version int NOT NULL DEFAULT 1, UNIQUE (org, name))`,
  `CREATE TABLE projects (
     id text COLLATE "C" PRIMARY KEY, org text COLLATE "C" NOT NULL REFERENCES organisations, name text NOT NULL,
     slug text NOT NULL, team_ids text[] NOT NULL DEFAULT '{}', workflow_ids text[] NOT NULL DEFAULT '{}',
     created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now(),
     version int NOT NULL DEFAULT 1, UNIQUE (org, slug))`
)

export default Effect.all([
  organisations,
  use,
  queue,
  groups,
  tenantTable("teams", { app: "SELECT, INSERT, UPDATE" }),
  tenantTable("projects", { app: "SELECT, INSERT, UPDATE" })
])
