/** Widgets of panels, and their published versions. */
import { Effect } from "effect"
import { script, tenantTable } from "./policies.js"

export const oldestBeside = 1

const content = `name text NOT NULL, connectors text[] NOT NULL, theme jsonb NOT NULL, locale text NOT NULL,
  allowed_origins text[] NOT NULL, features jsonb NOT NULL`

export default script(
  // Name to features: the draft. published_version: the number of the newest version.
  `CREATE TABLE widgets (id text COLLATE "C" PRIMARY KEY, org text COLLATE "C" NOT NULL REFERENCES organisations,
     slug text COLLATE "C" NOT NULL, ${content}, status text NOT NULL, published_version int,
     created_by text NOT NULL, created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now(),
     version int NOT NULL DEFAULT 1)`,
  "CREATE UNIQUE INDEX widgets_slug ON widgets (org, slug)",
  "CREATE INDEX widgets_list ON widgets (org, created_at DESC, id DESC)",
  `CREATE TABLE widget_versions (org text COLLATE "C" NOT NULL,
     widget_id text COLLATE "C" NOT NULL REFERENCES widgets ON DELETE CASCADE, number int NOT NULL, ${content},
     published_at timestamptz NOT NULL DEFAULT now(), published_by text NOT NULL, PRIMARY KEY (widget_id, number))`,
  "CREATE INDEX widget_versions_origins ON widget_versions USING gin (allowed_origins)"
).pipe(
  Effect.zipRight(tenantTable("widgets", { app: "SELECT, INSERT, UPDATE, DELETE", writer: "SELECT, DELETE" })),
  Effect.zipRight(tenantTable("widget_versions", { app: "SELECT, INSERT, DELETE", writer: "SELECT, DELETE" }))
)
