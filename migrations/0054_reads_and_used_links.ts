/**
 * Whether a notification is read is each person's own. Keys share one state: the columns of the notification. What was read
 * before this is read for everybody. A used link stays for a while, so that a second use can be told of.
 */
import { Effect } from "effect"
import { script, tenantTable } from "./policies.js"

export default Effect.all([
  script(
    // The status that a read notification has for those who have not read it; NULL: it was read before this.
    "ALTER TABLE notifications ADD COLUMN unread_status text",
    `CREATE TABLE notification_reads (
       notification_id text COLLATE "C" NOT NULL REFERENCES notifications ON DELETE CASCADE,
       user_id text COLLATE "C" NOT NULL REFERENCES users ON DELETE CASCADE,
       org text COLLATE "C" NOT NULL, read_at timestamptz NOT NULL, PRIMARY KEY (notification_id, user_id))`,
    "CREATE INDEX notification_reads_user ON notification_reads (user_id)",
    "ALTER TABLE sign_in_links ADD COLUMN used_at timestamptz"
  ),
  tenantTable("notification_reads", { app: "SELECT, INSERT, DELETE", writer: "SELECT, DELETE" }),
  script(
    // With the rights of who reads it, so that it shows an organisation its own rows only.
    `CREATE VIEW person_notifications WITH (security_invoker = true) AS
     SELECT n.id, n.org, n.customer_id, n.user_id, n.channel, n.severity, n.title, n.body, n.link, n.source,
       CASE WHEN r.read_at IS NOT NULL THEN 'read' ELSE COALESCE(n.unread_status, n.status) END AS status,
       COALESCE(r.read_at, CASE WHEN n.unread_status IS NULL THEN n.read_at END) AS read_at,
       n.pending, n.targets, n.cause, n.hour, n.created_at, u.id AS reader_id
     FROM users u JOIN notifications n ON n.org = u.org
       LEFT JOIN notification_reads r ON r.notification_id = n.id AND r.user_id = u.id`,
    "GRANT SELECT ON person_notifications TO svc_app"
  )
])
