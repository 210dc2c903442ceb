/**
 * What the owners of connections must share: permits granted under the limits that providers count for each connection, and
 * the shard of each connection, so that a node looks for due ones of its own shards only.
 */
import { Effect } from "effect"
import { script, tenantTable } from "./policies.js"

const limits = script(
  `CREATE TABLE connection_limits (
     connection_id text COLLATE "C" NOT NULL REFERENCES connections ON DELETE CASCADE, org text COLLATE "C" NOT NULL,
     state jsonb NOT NULL, revision bigint NOT NULL DEFAULT 1, updated_at timestamptz NOT NULL DEFAULT now(),
     PRIMARY KEY (connection_id, org)) WITH (fillfactor = 50)`
)

const shards = script(
  // The shard of an id, as all nodes compute it, among 300. Ids are ASCII.
  `CREATE FUNCTION svc_shard(id text) RETURNS int LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
   DECLARE h bigint := 5381; BEGIN
     FOR i IN REVERSE length(id)..1 LOOP h := ((h * 33) & 4294967295) # ascii(substr(id, i, 1)); END LOOP;
     h := (h & 3221225471) | ((h >> 1) & 1073741824);
     RETURN (CASE WHEN h >= 2147483648 THEN 4294967296 - h ELSE h END) % 300 + 1; END $$`,
  "ALTER TABLE connections ADD COLUMN shard int GENERATED ALWAYS AS (svc_shard(id)) STORED",
  "DROP INDEX connections_due",
  `CREATE INDEX connections_due ON connections (shard, next_look_at) WHERE status = 'active' AND next_look_at IS NOT NULL`
)

export default Effect.all([
  limits,
  tenantTable("connection_limits", { app: "", writer: "SELECT, INSERT, UPDATE, DELETE" }),
  shards
])
