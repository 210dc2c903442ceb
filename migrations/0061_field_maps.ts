/**
 * Overrides of connectors' field maps with their published versions, and the keys of creations that were begun at providers
 * which do not recognise a repetition.
 */
import { Effect } from "effect"
import { script, tenantTable } from "./policies.js"

const everything = "SELECT, INSERT, UPDATE, DELETE"

export default script(
  // customer_id: null for the organisation's own. fields, dropped, fields_out: the draft. published: the version in force.
  `CREATE TABLE field_maps (id text COLLATE "C" PRIMARY KEY, org text COLLATE "C" NOT NULL REFERENCES organisations ON DELETE CASCADE,
     connector text COLLATE "C" NOT NULL, entity text COLLATE "C" NOT NULL, model text COLLATE "C" NOT NULL,
     customer_id text COLLATE "C" REFERENCES customers ON DELETE CASCADE, name text NOT NULL, fields jsonb NOT NULL,
     dropped jsonb NOT NULL, fields_out jsonb, published int, created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL,
     version int NOT NULL)`,
  `CREATE UNIQUE INDEX field_maps_place ON field_maps (org, connector, entity, model, COALESCE(customer_id, ''))`,
  "CREATE INDEX field_maps_customer ON field_maps (customer_id) WHERE customer_id IS NOT NULL",
  `CREATE TABLE field_map_versions (field_map_id text COLLATE "C" NOT NULL REFERENCES field_maps ON DELETE CASCADE,
     number int NOT NULL, org text COLLATE "C" NOT NULL, fields jsonb NOT NULL, dropped jsonb NOT NULL, fields_out jsonb,
     notes text, published_at timestamptz NOT NULL, published_by text COLLATE "C" NOT NULL, PRIMARY KEY (field_map_id, number))`,
  `CREATE TABLE write_intents (org text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL, at timestamptz NOT NULL,
     PRIMARY KEY (org, key))`,
  "CREATE INDEX write_intents_at ON write_intents (at)"
).pipe(
  Effect.zipRight(tenantTable("field_maps", { app: everything, writer: "SELECT, DELETE" })),
  Effect.zipRight(tenantTable("field_map_versions", { app: "SELECT, INSERT, DELETE", writer: "SELECT, DELETE" })),
  Effect.zipRight(tenantTable("write_intents", { app: "SELECT", writer: everything }))
)
