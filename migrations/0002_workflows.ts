/** Workflows, their versions and deployments, and the state and configuration that runs read. */
import { Effect } from "effect"
import { script, tenantTable } from "./policies.js"

const all = "SELECT, INSERT, UPDATE, DELETE"

const tables = script(
  `CREATE TABLE workflows (
     id text COLLATE "C" PRIMARY KEY, org text COLLATE "C" NOT NULL REFERENCES organisations,
     space text COLLATE "C" NOT NULL REFERENCES workspaces, customer_id text COLLATE "C" REFERENCES customers,
     name text NOT NULL, slug text NOT NULL, description text NOT NULL DEFAULT '', form text NOT NULL, tier text NOT NULL,
     timeout_ms int, retry jsonb NOT NULL, enabled boolean NOT NULL DEFAULT true, status text NOT NULL DEFAULT 'draft',
     source text, spec jsonb, content_hash text NOT NULL, draft_updated_at timestamptz NOT NULL DEFAULT now(),
     input_contract jsonb, output_contract jsonb, bindings jsonb NOT NULL DEFAULT '[]', script text,
     diagram jsonb, warnings jsonb NOT NULL DEFAULT '[]', published_version int, callback_url text,
     tags text[] NOT NULL DEFAULT '{}', archived_at timestamptz, deleted_at timestamptz, created_by text NOT NULL,
     created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now(),
     version int NOT NULL DEFAULT 1)`,
  `CREATE UNIQUE INDEX workflows_name ON workflows (org, space, COALESCE(customer_id, ''), name) WHERE deleted_at IS NULL`,
  `CREATE UNIQUE INDEX workflows_slug ON workflows (org, space, COALESCE(customer_id, ''), slug) WHERE deleted_at IS NULL`,
  `CREATE INDEX workflows_list ON workflows (org, created_at DESC, id DESC) WHERE deleted_at IS NULL`,
  `CREATE TABLE workflow_versions (
     org text COLLATE "C" NOT NULL, workflow_id text COLLATE "C" NOT NULL REFERENCES workflows, number int NOT NULL,
     form text NOT NULL, source text, spec jsonb, script text, content_hash text NOT NULL, input_contract jsonb,
     output_contract jsonb, bindings jsonb NOT NULL, diagram jsonb, notes text, published_by text NOT NULL,
     published_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (workflow_id, number))`,
  `CREATE TABLE deployments (
     org text COLLATE "C" NOT NULL, workflow_id text COLLATE "C" NOT NULL REFERENCES workflows, environment text NOT NULL,
     number int NOT NULL, deployed_at timestamptz NOT NULL DEFAULT now(), deployed_by text NOT NULL,
     PRIMARY KEY (workflow_id, environment))`,
  // svc.state. owner: the workflow, customer or invocation whose scope this is; '' for the scope ORG.
  `CREATE TABLE key_values (
     org text COLLATE "C" NOT NULL, space text COLLATE "C" NOT NULL, scope text NOT NULL, environment text NOT NULL,
     owner text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL, value json NOT NULL, expires_at timestamptz,
     updated_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (org, space, scope, environment, owner, key))`,
  `CREATE INDEX key_values_expiry ON key_values (expires_at) WHERE expires_at IS NOT NULL`,
  `CREATE TABLE settings (
     org text COLLATE "C" NOT NULL DEFAULT current_setting('svc.org', true), level text NOT NULL, scope_id text COLLATE "C" NOT NULL DEFAULT '', key text NOT NULL,
     environment text NOT NULL DEFAULT '', value json NOT NULL, updated_at timestamptz NOT NULL DEFAULT now(),
     version int NOT NULL DEFAULT 1, PRIMARY KEY (org, level, scope_id, key, environment))`
)

const policies = Effect.all([
  tenantTable("workflows", { app: all, writer: "SELECT" }),
  tenantTable("workflow_versions", { app: "SELECT, INSERT", writer: "SELECT" }),
  tenantTable("deployments", { app: all, writer: "SELECT" }),
  tenantTable("key_values", { app: all, writer: all }),
  tenantTable("settings", { app: all, writer: "SELECT, DELETE" })
])

export default Effect.zipRight(tables, policies)
