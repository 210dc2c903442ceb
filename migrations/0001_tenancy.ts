/** Tenants and what identifies them: organisations, workspaces, customers, people, API keys, secrets. */
import { Effect } from "effect"
import { script, tenantTable } from "./policies.js"

const all = "SELECT, INSERT, UPDATE, DELETE"

const tables = script(
  `CREATE TABLE organisations (
     id text COLLATE "C" PRIMARY KEY, name text NOT NULL, slug text NOT NULL UNIQUE,
     parent_id text COLLATE "C" REFERENCES organisations, timezone text NOT NULL DEFAULT 'UTC',
     plan text NOT NULL, status text NOT NULL DEFAULT 'active', default_environment text NOT NULL DEFAULT 'live',
     settings jsonb NOT NULL DEFAULT '{}', created_at timestamptz NOT NULL DEFAULT now(),
     updated_at timestamptz NOT NULL DEFAULT now(), version int NOT NULL DEFAULT 1)`,
  `CREATE TABLE workspaces (
     id text COLLATE "C" PRIMARY KEY, org text COLLATE "C" NOT NULL REFERENCES organisations, name text NOT NULL,
     slug text NOT NULL, callback_secret bytea, callback_secret_before bytea, callback_rotated_at timestamptz,
     created_at timestamptz NOT NULL DEFAULT now(), UNIQUE (org, slug))`,
  `CREATE TABLE customers (
     id text COLLATE "C" PRIMARY KEY, org text COLLATE "C" NOT NULL REFERENCES organisations, name text NOT NULL,
     slug text NOT NULL, external_ref text, status text NOT NULL DEFAULT 'active', plan text, admin_email text,
     metadata jsonb NOT NULL DEFAULT '{}', limits jsonb NOT NULL DEFAULT '{}',
     created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now(),
     deleted_at timestamptz, erased_at timestamptz, version int NOT NULL DEFAULT 1)`,
  `CREATE UNIQUE INDEX customers_slug ON customers (org, slug) WHERE deleted_at IS NULL`,
  `CREATE UNIQUE INDEX customers_ref ON customers (org, external_ref) WHERE deleted_at IS NULL`,
  `CREATE INDEX customers_list ON customers (org, id DESC)`,
  `CREATE TABLE roles (
     id text COLLATE "C" PRIMARY KEY, org text COLLATE "C" NOT NULL REFERENCES organisations, name text NOT NULL,
     builtin boolean NOT NULL DEFAULT false, parent text COLLATE "C" REFERENCES roles, permissions jsonb NOT NULL,
     created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now(),
     version int NOT NULL DEFAULT 1, UNIQUE (org, name))`,
  `CREATE TABLE users (
     id text COLLATE "C" PRIMARY KEY, org text COLLATE "C" NOT NULL REFERENCES organisations, email text NOT NULL,
     name text, role_id text COLLATE "C" NOT NULL REFERENCES roles, customer_ids jsonb NOT NULL DEFAULT '[]',
     teams jsonb NOT NULL DEFAULT '[]', status text NOT NULL DEFAULT 'invited', invite_hash text,
     invite_expires_at timestamptz, last_active_at timestamptz, created_at timestamptz NOT NULL DEFAULT now(),
     updated_at timestamptz NOT NULL DEFAULT now(), version int NOT NULL DEFAULT 1)`,
  `CREATE UNIQUE INDEX users_email ON users (org, lower(email))`,
  `CREATE TABLE environments (
     id text COLLATE "C" PRIMARY KEY, org text COLLATE "C" NOT NULL REFERENCES organisations,
     customer_id text COLLATE "C" REFERENCES customers, name text NOT NULL, slug text NOT NULL,
     type text NOT NULL DEFAULT 'custom', protected boolean NOT NULL DEFAULT false,
     requires_review boolean NOT NULL DEFAULT false, auto_deploy boolean NOT NULL DEFAULT false,
     created_at timestamptz NOT NULL DEFAULT now())`,
  `CREATE UNIQUE INDEX environments_slug ON environments (org, COALESCE(customer_id, ''), slug)`,
  `CREATE TABLE api_keys (
     id text COLLATE "C" PRIMARY KEY, org text COLLATE "C" NOT NULL REFERENCES organisations,
     space text COLLATE "C" NOT NULL REFERENCES workspaces, name text NOT NULL, hash text NOT NULL UNIQUE,
     hash_before text UNIQUE, before_until timestamptz, prefix text NOT NULL, last4 text NOT NULL,
     mode text NOT NULL, preset text NOT NULL, permissions jsonb NOT NULL, customers_mode text NOT NULL DEFAULT 'all',
     customer_ids text[] NOT NULL DEFAULT '{}', hmac_secret bytea, resource_scope jsonb NOT NULL DEFAULT '[]',
     allowed_ips text[] NOT NULL DEFAULT '{}', rate_limit int, expires_at timestamptz, revoked_at timestamptz,
     last_used_at timestamptz, rotated_at timestamptz, created_by text NOT NULL,
     created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now(),
     version int NOT NULL DEFAULT 1)`,
  `CREATE INDEX api_keys_list ON api_keys (org, id DESC)`,
  `CREATE TABLE secrets (
     id text COLLATE "C" PRIMARY KEY, org text COLLATE "C" NOT NULL REFERENCES organisations,
     space text COLLATE "C" NOT NULL REFERENCES workspaces, name text NOT NULL, type text NOT NULL,
     customer_id text COLLATE "C" REFERENCES customers, environment text, current int NOT NULL,
     created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now(),
     deleted_at timestamptz, version int NOT NULL DEFAULT 1)`,
  `CREATE UNIQUE INDEX secrets_scope ON secrets (org, space, name, COALESCE(customer_id, ''), COALESCE(environment, ''))
     WHERE deleted_at IS NULL`,
  // Earlier values are kept until no journal can refer to them: a replay reads the version that the run read.
  `CREATE TABLE secret_versions (
     org text COLLATE "C" NOT NULL, secret_id text COLLATE "C" NOT NULL REFERENCES secrets, number int NOT NULL,
     sealed bytea NOT NULL, created_at timestamptz NOT NULL DEFAULT now(), retired_at timestamptz,
     PRIMARY KEY (secret_id, number))`,
  `CREATE TABLE data_keys (
     id text PRIMARY KEY, org text COLLATE "C" NOT NULL, wrapped bytea NOT NULL, master_key_id text NOT NULL,
     active boolean NOT NULL DEFAULT true, created_at timestamptz NOT NULL DEFAULT now())`,
  `CREATE UNIQUE INDEX data_keys_active ON data_keys (org) WHERE active`,
  // Requests granted in the current minute. Committed before a request uses its token, so that a crash never grants
  // more.
  `CREATE TABLE rate_windows (
     org text COLLATE "C" NOT NULL, bucket text NOT NULL, minute timestamptz NOT NULL, granted int NOT NULL,
     PRIMARY KEY (org, bucket, minute))`
)

const policies = Effect.all([
  tenantTable("organisations", { app: "SELECT, INSERT, UPDATE", writer: all, column: "id" }),
  tenantTable("workspaces", { app: all, writer: all }),
  tenantTable("customers", { app: all, writer: all }),
  tenantTable("roles", { app: all, writer: all }),
  tenantTable("users", { app: all, writer: "SELECT, UPDATE" }),
  tenantTable("environments", { app: all, writer: all }),
  tenantTable("api_keys", { app: all, writer: "SELECT, INSERT, UPDATE" }),
  tenantTable("secrets", { app: all, writer: all }),
  tenantTable("secret_versions", { app: all, writer: all }),
  tenantTable("data_keys", { app: "SELECT, INSERT", writer: all }),
  tenantTable("rate_windows", { app: "SELECT", writer: all })
])

export default Effect.zipRight(tables, policies)
