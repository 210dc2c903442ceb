/**
 * The addresses that configurations name for notifications, and whether their owners have confirmed them. Those of before
 * this release are used for 14 days more. Messages that leave the application are counted by hour.
 */
import { Effect } from "effect"
import { script, tenantTable } from "./policies.js"

const tables = script(
  `CREATE TABLE mail_addresses (
     org text COLLATE "C" NOT NULL, address text COLLATE "C" NOT NULL, token_hash text, asked_at timestamptz,
     confirmed_at timestamptz, usable_until timestamptz, created_at timestamptz NOT NULL DEFAULT now(),
     PRIMARY KEY (org, address))`,
  `CREATE UNIQUE INDEX mail_addresses_token ON mail_addresses (token_hash) WHERE token_hash IS NOT NULL`,
  `CREATE INDEX mail_addresses_asked ON mail_addresses (address, asked_at)`,
  `CREATE INDEX mail_addresses_unasked ON mail_addresses (created_at) WHERE asked_at IS NULL AND confirmed_at IS NULL`,
  `CREATE INDEX settings_notifications ON settings (updated_at) WHERE key = 'notifications'`,
  `ALTER TABLE notifications ADD COLUMN targets int NOT NULL DEFAULT 0`,
  // The addresses of a stored value, in lower case; none if the value is of an older form.
  `CREATE FUNCTION svc_mail_addresses(value jsonb) RETURNS SETOF text LANGUAGE sql IMMUTABLE AS $$
     SELECT lower(a) FROM jsonb_array_elements_text(
       CASE WHEN jsonb_typeof(value->'email') = 'array' THEN value->'email' ELSE '[]'::jsonb END) a
     WHERE length(a) <= 320 $$`,
  `INSERT INTO mail_addresses (org, address, usable_until)
     SELECT DISTINCT s.org, a, now() + interval '14 days' FROM settings s, svc_mail_addresses(s.value::jsonb) a
     WHERE s.key = 'notifications'`
)

export default Effect.zipRight(
  tables,
  tenantTable("mail_addresses", { app: "SELECT", writer: "SELECT, INSERT, UPDATE, DELETE" })
)
