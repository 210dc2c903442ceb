/** What nodes must not do twice, or too much of together: hand over what is in the outbox, and send deliveries at once. */
import { script } from "./policies.js"

export default script(
  "ALTER TABLE domain_events ADD COLUMN leased_until timestamptz",
  "CREATE INDEX deliveries_claimed ON deliveries (org) WHERE status = 'pending' AND claimed_until IS NOT NULL",
  // What all nodes send now. Claims come one after the other: each sees what the one before has claimed, since a volatile
  // function reads the rows of now, and not those of the statement that calls it.
  `CREATE FUNCTION svc_claimed_deliveries() RETURNS TABLE (org text, partner text, notifies boolean, n int)
   LANGUAGE plpgsql VOLATILE AS $$ BEGIN
     PERFORM pg_advisory_xact_lock(hashtext('svc_claim_deliveries'));
     RETURN QUERY SELECT w.org, split_part(split_part(COALESCE(e.url, w.url), '#', 1), '?', 1), w.kind = 'notification',
         count(*)::int
       FROM deliveries w LEFT JOIN webhook_endpoints e ON e.id = w.endpoint_id
       WHERE w.status = 'pending' AND w.claimed_until > clock_timestamp() GROUP BY 1, 2, 3; END $$`
)
