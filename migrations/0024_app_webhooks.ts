/**
 * An index that finds the connections of an account, for webhooks that a provider's app sends for all accounts. It holds
 * every text and number of a connection's config and the label of its account, because each version of a connector may
 * compare another member.
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
