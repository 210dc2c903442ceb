/**
 * What became of an event's earlier leases. `claims` counts all of them, also those that a node gave back since it had no free
 * slot or its database was away: such a lease says nothing against the event.
 */
import { script } from "./policies.js"

export const oldestBeside = 1

const expired = "SET claimed_by = NULL, claimed_until = NULL WHERE"

export default script(
  // lost: leases that ended with their node. attempts: those after which no route of the event could be started.
  "ALTER TABLE start_queue ADD COLUMN lost int NOT NULL DEFAULT 0, ADD COLUMN attempts int NOT NULL DEFAULT 0",
  `DO $$ DECLARE taking text := pg_get_functiondef('svc_take_queued'::regproc); BEGIN
     IF strpos(taking, '${expired}') = 0 THEN RAISE EXCEPTION 'svc_take_queued ends no expired leases'; END IF;
     EXECUTE replace(taking, '${expired}', '${expired.replace(" WHERE", ", lost = lost + 1 WHERE")}'); END $$`
)
