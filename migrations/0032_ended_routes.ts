/** Disables triggers whose workflows were archived or deleted one after the other, which left them active. */
import { script } from "./policies.js"

export default script(
  `UPDATE triggers t SET status = 'disabled', updated_at = now(), version = version + 1
   WHERE t.status = 'active' AND t.deleted_at IS NULL AND cardinality(t.workflow_ids) > 0 AND NOT EXISTS (
     SELECT FROM workflows w WHERE w.id = ANY (t.workflow_ids) AND w.deleted_at IS NULL AND w.status <> 'archived')`,
  `UPDATE trigger_states s SET next_fire_at = NULL FROM triggers t
   WHERE t.id = s.trigger_id AND s.next_fire_at IS NOT NULL AND t.status = 'disabled'`
)
