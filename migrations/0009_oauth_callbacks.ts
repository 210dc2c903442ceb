/**
 * The address to which a connect session sends people back, and what it asked for. Existing connections keep the common
 * callback.
 */
import { script } from "./policies.js"

export default script(
  `ALTER TABLE connections ADD COLUMN common_callback boolean NOT NULL DEFAULT true`,
  `ALTER TABLE connections ALTER COLUMN common_callback SET DEFAULT false`,
  `ALTER TABLE connect_sessions ADD COLUMN asked jsonb`
)
