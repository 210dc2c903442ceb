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
  // NULL: it is about the organisation as a whole.
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

const invitations = Effect.zipRight(
  script(
    // proved_at: since when only the person itself can act as this one: whoever has invited it may have used the link.
    `CREATE TABLE invited_people (
       user_id text COLLATE "C" PRIMARY KEY, org text COLLATE "C" NOT NULL REFERENCES organisations, invited_by text NOT NULL,
       invited_at timestamptz NOT NULL, proved_at timestamptz)`,
    // Those of before, by the trail. Sessions from before the first sign-in by mail have ended.
    `INSERT INTO invited_people (user_id, org, invited_by, invited_at, proved_at)
     SELECT DISTINCT ON (u.id) u.id, u.org, a.actor_id, a.at,
       (SELECT i.verified_at FROM identities i WHERE i.id = u.identity_id
          AND (i.issuer IS NOT NULL OR lower(i.email) = lower(u.email)))
     FROM users u JOIN audit_entries a ON a.org = u.org AND a.resource_id = u.id
     WHERE a.action = 'user.invite' AND a.outcome = 'success' ORDER BY u.id, a.id DESC`,
    // Whether who acts now and who acted then are one author. A person who had not proved then to be another is its inviter, or
    // whoever made the key that has invited it (is_self). An author is also the same as its keys, those that they made, and
    // those whose present secret they were told; two keys of one maker are two.
    `CREATE FUNCTION svc_is_same_author_at(caller text, author text, acted_at timestamptz) RETURNS boolean LANGUAGE sql STABLE AS $$
     WITH RECURSIVE line (is_caller, id, at, is_self, was_invited) AS (
       SELECT s.is_caller, s.id COLLATE "C", s.at, true, false
       FROM (VALUES (true, caller, 'infinity'), (false, author, acted_at)) AS s (is_caller, id, at)
       UNION SELECT l.is_caller, m.maker COLLATE "C", m.at, l.is_self AND (l.was_invited OR m.is_inviter),
         l.was_invited OR m.is_inviter
       FROM line l CROSS JOIN LATERAL (
         SELECT k.created_by, k.created_at, false FROM api_keys k WHERE k.id = l.id
         UNION ALL SELECT k.rotated_by, k.rotated_at, false FROM api_keys k WHERE k.id = l.id
         UNION ALL SELECT p.invited_by, p.invited_at, true FROM invited_people p
           WHERE p.user_id = l.id AND (p.proved_at IS NULL OR l.at < p.proved_at)) AS m (maker, at, is_inviter)
       WHERE m.maker IS NOT NULL)
     SELECT EXISTS (SELECT FROM line c JOIN line a ON a.id = c.id
       WHERE c.is_caller AND NOT a.is_caller AND (c.is_self OR a.is_self)) $$`,
    // For nodes of the release before, which do not tell when.
    `CREATE OR REPLACE FUNCTION svc_is_same_author(one text, other text) RETURNS boolean LANGUAGE sql STABLE AS $$
     SELECT svc_is_same_author_at(one, other, '-infinity') $$`
  ),
  tenantTable("invited_people", { app: "SELECT, INSERT, UPDATE", writer: "SELECT, UPDATE" })
)

// The trail is read before a lock is taken.
export default Effect.zipRight(invitations, notifications)
