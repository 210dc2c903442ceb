/**
 * Finds the connections of an account at a provider: the webhook of a provider's app tells of all of its accounts. The
 * index has the texts and numbers of a connection's config and its account's label, so that it holds whatever member the
 * connector's current version compares.
 */
import { script } from "./policies.js"

export default script(
  `CREATE FUNCTION svc_account_keys(org text, connector text, config jsonb, label text) RETURNS text[]
   LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
     SELECT array_agg(DISTINCT md5(org || '|' || connector || '|' || found.value)) FROM (
       SELECT at #>> '{}' AS value FROM jsonb_path_query(config, 'strict $.**') AS at
       WHERE jsonb_typeof(at) IN ('string', 'number') UNION ALL SELECT label) found
     WHERE found.value <> '' $$`,
  // Without a list of pending entries, which each look-up would read.
  `CREATE INDEX connections_account ON connections USING gin (svc_account_keys(org, connector, config, account_label))
     WITH (fastupdate = off) WHERE disconnected_at IS NULL`
)
