/**
 * A notification that names records of a workspace belongs to it. Who has invited a person is remembered, also when that
 * person is removed: what the person has made stays.
 */
import { Effect } from "effect"
import { script, tenantTable } from "./policies.js"

export const oldestBeside = 1

const recorder = (name: string, values: string) =>
  `CREATE OR REPLACE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   DECLARE r record; BEGIN
     IF TG_OP = 'DELETE' THEN r := OLD; ELSE r := NEW; END IF;
     INSERT INTO record_changes (topic, org, id, status, space, customer_id, connector, reader) VALUES (${values});
     RETURN NULL; END $$`

const notifications = script(
  // NULL: it names nothing of a workspace.
  `ALTER TABLE notifications ADD COLUMN space text COLLATE "C"`,
  // Lock on notifications: of organisations with several workspaces only, which are few, and of 90 days.
  `UPDATE notifications n SET space = CASE n.source->>'type'
       WHEN 'execution' THEN COALESCE((SELECT e.space FROM executions e WHERE e.id = n.source->>'id'),
         (SELECT r.space FROM runs r WHERE r.id = n.source->>'id'))
       WHEN 'trigger' THEN (SELECT t.space FROM triggers t WHERE t.id = n.source->>'id')
       WHEN 'approval' THEN (SELECT a.space FROM approvals a WHERE a.id = n.source->>'id')
       WHEN 'key' THEN (SELECT k.space FROM api_keys k WHERE k.id = n.source->>'id')
       WHEN 'dlq' THEN (SELECT d.space FROM dead_letters d WHERE d.id = substring(n.link FROM '[^/]+$')) END
     WHERE n.org IN (SELECT w.org FROM workspaces w GROUP BY w.org HAVING count(*) > 1)`,
  `CREATE OR REPLACE VIEW person_notifications WITH (security_invoker = true) AS
     SELECT n.id, n.org, n.customer_id, n.user_id, n.channel, n.severity, n.title, n.body, n.link, n.source,
       CASE WHEN r.read_at IS NOT NULL THEN 'read' ELSE COALESCE(n.unread_status, n.status) END AS status,
       COALESCE(r.read_at, CASE WHEN n.unread_status IS NULL THEN n.read_at END) AS read_at,
       n.pending, n.targets, n.cause, n.hour, n.created_at, u.id AS reader_id, n.space
     FROM users u JOIN notifications n ON n.org = u.org
       LEFT JOIN notification_reads r ON r.notification_id = n.id AND r.user_id = u.id`,
  recorder(
    "svc_record_notification",
    `'notifications', r.org, r.id, r.status, r.space, r.customer_id, NULL,
     CASE WHEN TG_OP = 'UPDATE' AND r.status = 'read' THEN '' END`
  ),
  recorder(
    "svc_record_read",
    `'notifications', r.org, r.notification_id, 'read', (SELECT space FROM notifications WHERE id = r.notification_id),
     (SELECT customer_id FROM notifications WHERE id = r.notification_id), NULL, r.user_id`
  )
)

export default notifications
