/**
 * Environments that change, deployments for single customers, and releases: versions of several workflows that are
 * deployed together. An environment has one release at a time.
 */
import { Effect } from "effect"
import { script, tenantTable } from "./policies.js"

const all = "SELECT, INSERT, UPDATE, DELETE"

const tables = script(
  `ALTER TABLE environments ADD COLUMN waived_by text, ADD COLUMN updated_at timestamptz NOT NULL DEFAULT now(),
     ADD COLUMN version int NOT NULL DEFAULT 1`,
  `CREATE INDEX environments_customer ON environments (org, customer_id) WHERE customer_id IS NOT NULL`,
  `ALTER TABLE api_keys ADD COLUMN rotated_by text`,
  // Null: for all customers. A customer's own workflow is deployed for that customer.
  `ALTER TABLE deployments ADD COLUMN customer_id text COLLATE "C" REFERENCES customers,
     DROP CONSTRAINT deployments_pkey`,
  `UPDATE deployments d SET customer_id = w.customer_id FROM workflows w WHERE w.id = d.workflow_id AND w.customer_id IS NOT NULL`,
  `ALTER TABLE deployments ADD CONSTRAINT deployments_place UNIQUE NULLS NOT DISTINCT (workflow_id, environment, customer_id)`,
  `CREATE INDEX deployments_customer ON deployments (customer_id, environment) WHERE customer_id IS NOT NULL`,
  // pins: the version of each workflow, by its id.
  `CREATE TABLE releases (
     id text COLLATE "C" PRIMARY KEY, org text COLLATE "C" NOT NULL REFERENCES organisations,
     space text COLLATE "C" NOT NULL REFERENCES workspaces, customer_id text COLLATE "C" REFERENCES customers,
     number int NOT NULL, semver text, name text NOT NULL, notes text, pins jsonb NOT NULL, environment text,
     environments text[] NOT NULL DEFAULT '{}', status text NOT NULL, created_by text NOT NULL,
     created_at timestamptz NOT NULL DEFAULT now(), deployed_at timestamptz, deployed_by text, rollback_of text,
     revision int NOT NULL DEFAULT 1,
     CONSTRAINT releases_number UNIQUE NULLS NOT DISTINCT (space, customer_id, number))`,
  `CREATE UNIQUE INDEX releases_semver ON releases (space, COALESCE(customer_id, ''), semver) WHERE semver IS NOT NULL`,
  `CREATE INDEX releases_list ON releases (org, created_at DESC, id DESC)`,
  // pins_before: what was deployed before the release was.
  `CREATE TABLE environment_releases (
     org text COLLATE "C" NOT NULL, space text COLLATE "C" NOT NULL REFERENCES workspaces,
     customer_id text COLLATE "C" REFERENCES customers, environment text NOT NULL,
     release_id text COLLATE "C" NOT NULL REFERENCES releases, pins_before jsonb NOT NULL,
     deployed_at timestamptz NOT NULL DEFAULT now(),
     CONSTRAINT environment_releases_place UNIQUE NULLS NOT DISTINCT (space, customer_id, environment))`,
  // Whether two callers are one author: the same, or a key and whoever made it or was told its present secret, over any
  // number of keys in between.
  `CREATE FUNCTION svc_is_same_author(one text, other text) RETURNS boolean LANGUAGE sql STABLE AS $$
     WITH RECURSIVE line (start, id) AS (
       SELECT s.start, s.start COLLATE "C" FROM (VALUES (one), (other)) AS s (start)
       UNION SELECT l.start, m.maker COLLATE "C" FROM line l JOIN api_keys k ON k.id = l.id
         CROSS JOIN LATERAL (VALUES (k.created_by), (k.rotated_by)) AS m (maker) WHERE m.maker IS NOT NULL)
     SELECT EXISTS (SELECT FROM line l WHERE l.start = one AND l.id = other OR l.start = other AND l.id = one) $$`
)

const policies = Effect.all([
  tenantTable("releases", { app: all, writer: "SELECT, DELETE" }),
  tenantTable("environment_releases", { app: all, writer: "SELECT, DELETE" })
])

export default Effect.zipRight(tables, policies)
