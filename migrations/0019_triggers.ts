/** Triggers, and what firing them writes: kept apart, so that an event never changes a management record. */
import { Effect } from "effect"
import { script, tenantTable } from "./policies.js"

const all = "SELECT, INSERT, UPDATE, DELETE"

const tables = script(
  `CREATE TABLE triggers (
     id text COLLATE "C" PRIMARY KEY, org text COLLATE "C" NOT NULL REFERENCES organisations,
     space text COLLATE "C" NOT NULL, customer_id text COLLATE "C" REFERENCES customers ON DELETE CASCADE,
     type text NOT NULL, name text NOT NULL, description text NOT NULL DEFAULT '', status text NOT NULL,
     routes jsonb NOT NULL, workflow_ids text[] NOT NULL, environments text[] NOT NULL, delivery jsonb NOT NULL,
     webhook jsonb, schedule jsonb, app_event jsonb, event jsonb, auto_disabled_at timestamptz,
     created_by text NOT NULL, created_at timestamptz NOT NULL DEFAULT now(),
     updated_at timestamptz NOT NULL DEFAULT now(), deleted_at timestamptz, version int NOT NULL DEFAULT 1)`,
  `CREATE INDEX triggers_list ON triggers (org, created_at DESC, id DESC) WHERE deleted_at IS NULL`,
  `CREATE INDEX triggers_customer ON triggers (customer_id)`,
  `CREATE INDEX triggers_app_event ON triggers (org, (app_event->>'connector'), (app_event->>'event'))
     WHERE type = 'app_event' AND deleted_at IS NULL`,
  `CREATE INDEX triggers_event ON triggers (org) WHERE type = 'event' AND deleted_at IS NULL`,
  `CREATE INDEX triggers_deleted ON triggers (deleted_at) WHERE deleted_at IS NOT NULL`,
  `CREATE TABLE trigger_states (
     trigger_id text COLLATE "C" PRIMARY KEY REFERENCES triggers ON DELETE CASCADE, org text COLLATE "C" NOT NULL,
     next_fire_at timestamptz, last_fired_at timestamptz, consecutive_failures int NOT NULL DEFAULT 0,
     leased_until timestamptz) WITH (fillfactor = 70)`,
  `CREATE INDEX trigger_states_due ON trigger_states (next_fire_at) WHERE next_fire_at IS NOT NULL`,
  `CREATE INDEX trigger_states_failing ON trigger_states (trigger_id) WHERE consecutive_failures >= 20`
)

const policies = Effect.all([
  tenantTable("triggers", { app: all, writer: all }),
  tenantTable("trigger_states", { app: all, writer: all })
])

export default Effect.zipRight(tables, policies)
