/** Dead letters are replayed without a request once their cause is gone, by the policy of their trigger or configuration. */
import { script } from "./policies.js"

/**
 * The policy for a dead letter: that of its trigger, else the most specific value of the configuration, else the
 * platform's.
 */
const policySql = `SELECT COALESCE(
    (SELECT t.auto_replay FROM triggers t WHERE t.id = letter.trigger_id),
    (SELECT s.value::jsonb FROM settings s
     WHERE s.org = letter.org AND s.key = 'autoReplay' AND s.environment IN ('', COALESCE(letter.context->>'environment', ''))
       AND (s.level, s.scope_id) IN (('saas', ''), ('tenant', COALESCE(letter.customer_id, '-')),
         ('integration', COALESCE(letter.connector, '-')), ('flow', COALESCE(letter.context->>'workflowId', '-')))
     ORDER BY array_position(ARRAY['flow', 'integration', 'tenant', 'saas'], s.level), s.environment DESC LIMIT 1),
    platform)`

export default script(
  `ALTER TABLE triggers ADD COLUMN auto_replay jsonb`,
  `CREATE INDEX triggers_auto_replay ON triggers (org) WHERE auto_replay IS NOT NULL`,
  `CREATE INDEX settings_auto_replay ON settings (org) WHERE key = 'autoReplay'`,
  // replay_at: when the schedule of its policy looks at it; replay_id: the replay of many that has taken it.
  `ALTER TABLE dead_letters ADD COLUMN replay_cause text,
     ADD COLUMN replay_at timestamptz DEFAULT now() + interval '15 minutes'`,
  `CREATE INDEX dead_letters_schedule ON dead_letters (replay_at)
     WHERE replay_at IS NOT NULL AND status IN ('pending', 'replaying')`,
  `CREATE INDEX dead_letters_event ON dead_letters (event_id) WHERE event_id IS NOT NULL`,
  `CREATE INDEX dead_letters_replay ON dead_letters (replay_id) WHERE replay_id IS NOT NULL`,
  `CREATE INDEX dead_letters_workflow ON dead_letters (org, (context->>'workflowId'), id) WHERE status = 'pending'`,
  `CREATE INDEX dead_letters_connection ON dead_letters (connection_id, id)
     WHERE status = 'pending' AND connection_id IS NOT NULL`,
  `CREATE INDEX dead_letters_auth ON dead_letters (org, customer_id, id)
     WHERE status = 'pending' AND error->>'category' = 'auth'`,
  // causes: how many causes the replay has followed. It has finished only if none came meanwhile.
  `ALTER TABLE replays ADD COLUMN cause text, ADD COLUMN subject text, ADD COLUMN causes int NOT NULL DEFAULT 1`,
  `CREATE UNIQUE INDEX replays_cause ON replays (org, space, cause, subject) WHERE status = 'running' AND cause IS NOT NULL`,
  `CREATE FUNCTION svc_auto_replays(letter dead_letters, cause text, platform jsonb) RETURNS boolean
   LANGUAGE sql STABLE AS $$
     SELECT letter.event_id IS NOT NULL AND COALESCE(p.policy->'on' ? cause, false) AND letter.retry_count <
       CASE WHEN jsonb_typeof(p.policy->'maxReplays') = 'number' THEN (p.policy->>'maxReplays')::numeric ELSE 3 END
     FROM (${policySql} AS policy) p $$`,
  // Organisations without a policy pay this look-up for each cause.
  `CREATE FUNCTION svc_has_auto_replay(organisation text, platform jsonb) RETURNS boolean LANGUAGE sql STABLE AS $$
     SELECT platform IS NOT NULL OR EXISTS (SELECT FROM triggers t WHERE t.org = organisation AND t.auto_replay IS NOT NULL)
       OR EXISTS (SELECT FROM settings s WHERE s.org = organisation AND s.key = 'autoReplay') $$`
)
