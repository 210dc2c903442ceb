/** Connectors that organisations define, their versions, and organisations' OAuth clients at providers. */
import { Effect } from "effect"
import { script, tenantTable } from "./policies.js"

const all = "SELECT, INSERT, UPDATE, DELETE"

const tables = script(
  `CREATE TABLE connectors (
     id text COLLATE "C" PRIMARY KEY, org text COLLATE "C" NOT NULL REFERENCES organisations, slug text COLLATE "C" NOT NULL,
     name text NOT NULL, description text NOT NULL DEFAULT '', kind text NOT NULL, summary json NOT NULL,
     current int NOT NULL, semver text NOT NULL, latest_version text, created_by text NOT NULL,
     created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now(),
     deleted_at timestamptz, version int NOT NULL DEFAULT 1)`,
  `CREATE UNIQUE INDEX connectors_slug ON connectors (org, slug) WHERE deleted_at IS NULL`,
  `CREATE INDEX connectors_list ON connectors (org, created_at DESC, id DESC) WHERE deleted_at IS NULL`,
  // The draft is the version that is not yet published. A definition may have megabytes: lists never read it.
  `CREATE TABLE connector_versions (
     org text COLLATE "C" NOT NULL, connector_id text COLLATE "C" NOT NULL REFERENCES connectors, number int NOT NULL,
     semver text NOT NULL, definition json NOT NULL, actions json NOT NULL,
     content_hash text NOT NULL, notes text,
     published_at timestamptz, published_by text, PRIMARY KEY (connector_id, number))`,
  `CREATE UNIQUE INDEX connector_versions_semver ON connector_versions (connector_id, semver)`,
  `CREATE UNIQUE INDEX connector_versions_draft ON connector_versions (connector_id) WHERE published_at IS NULL`,
  `CREATE FUNCTION svc_refuse_published_change() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN RAISE EXCEPTION 'a published version never changes' USING ERRCODE = 'insufficient_privilege'; END $$`,
  `CREATE TRIGGER connector_versions_published BEFORE UPDATE ON connector_versions
     FOR EACH ROW WHEN (OLD.published_at IS NOT NULL) EXECUTE FUNCTION svc_refuse_published_change()`,
  // connector: the slug, since built-in connectors have no row.
  `CREATE TABLE auth_providers (
     id text COLLATE "C" PRIMARY KEY, org text COLLATE "C" NOT NULL REFERENCES organisations,
     connector text COLLATE "C" NOT NULL, name text NOT NULL, method_id text NOT NULL, client_id text NOT NULL,
     client_secret bytea, scopes text[] NOT NULL DEFAULT '{}', is_default boolean NOT NULL DEFAULT false,
     created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now(),
     version int NOT NULL DEFAULT 1)`,
  `CREATE UNIQUE INDEX auth_providers_name ON auth_providers (org, connector, method_id, name)`,
  `CREATE UNIQUE INDEX auth_providers_default ON auth_providers (org, connector, method_id) WHERE is_default`
)

const policies = Effect.all([
  tenantTable("connectors", { app: all, writer: "SELECT" }),
  tenantTable("connector_versions", { app: all, writer: "SELECT" }),
  tenantTable("auth_providers", { app: all, writer: all })
])

export default Effect.zipRight(tables, policies)
