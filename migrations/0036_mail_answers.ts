/** Whether the mail server answered the mail that asks an address: an address without an answer is asked again after an hour. */
import { script } from "./policies.js"

export default script(
  `ALTER TABLE mail_addresses ADD COLUMN answered_at timestamptz`,
  `UPDATE mail_addresses SET answered_at = asked_at WHERE asked_at IS NOT NULL`,
  `DROP INDEX mail_addresses_unasked`,
  `CREATE INDEX mail_addresses_unanswered ON mail_addresses (created_at) WHERE answered_at IS NULL AND confirmed_at IS NULL`
)
