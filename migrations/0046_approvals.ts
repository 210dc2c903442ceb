/**
 * Approvals of runs, and the mails with one-time links that ask people for them. A decision wakes its run, of which the
 * request role may set the time of its wake-up alone.
 */
import { Effect } from "effect"
import { script, tenantTable } from "./policies.js"

const tables = script(
  // key: the call of the run, so that it has one approval however often it is made.
  `CREATE TABLE approvals (
     id text COLLATE "C" PRIMARY KEY, org text COLLATE "C" NOT NULL, space text COLLATE "C" NOT NULL,
     customer_id text COLLATE "C", execution_id text COLLATE "C" NOT NULL, workflow_id text COLLATE "C" NOT NULL,
     workflow_name text NOT NULL, environment text NOT NULL, key text NOT NULL, name text NOT NULL, message text NOT NULL,
     approvers jsonb NOT NULL, status text NOT NULL, on_expire text NOT NULL, decision text, comment text, actor text,
     decided_by jsonb, expires_at timestamptz NOT NULL, decided_at timestamptz, created_at timestamptz NOT NULL DEFAULT now(),
     UNIQUE (execution_id, key))`,
  `CREATE INDEX approvals_list ON approvals (org, created_at DESC, id DESC)`,
  `CREATE INDEX approvals_status ON approvals (org, status, created_at DESC, id DESC)`,
  `CREATE INDEX approvals_customer ON approvals (customer_id) WHERE customer_id IS NOT NULL`,
  // user_id: of the organisation's user with this address; null for a confirmed address.
  `CREATE TABLE approval_links (
     approval_id text COLLATE "C" NOT NULL REFERENCES approvals ON DELETE CASCADE, org text COLLATE "C" NOT NULL,
     address text COLLATE "C" NOT NULL, user_id text, token_hash text, due_at timestamptz NOT NULL DEFAULT now(),
     sent_at timestamptz, answered_at timestamptz, PRIMARY KEY (approval_id, address))`,
  `CREATE UNIQUE INDEX approval_links_token ON approval_links (token_hash) WHERE token_hash IS NOT NULL`,
  `CREATE INDEX approval_links_due ON approval_links (org, due_at) WHERE answered_at IS NULL`,
  `CREATE INDEX approval_links_address ON approval_links (address, sent_at)`,
  `CREATE INDEX approval_links_org ON approval_links (org, sent_at)`,
  `GRANT UPDATE (wake_at) ON runs TO svc_app`
)

const policies = Effect.all([
  tenantTable("approvals", { app: "SELECT, UPDATE", writer: "SELECT, INSERT, UPDATE, DELETE" }),
  tenantTable("approval_links", { app: "", writer: "SELECT, INSERT, UPDATE, DELETE" })
])

export default Effect.zipRight(tables, policies)
