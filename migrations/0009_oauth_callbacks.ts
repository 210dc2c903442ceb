/** Where a connect session sends people back to, and what it asked for. Connections that exist keep the common callback. */
import { script } from "./policies.js"

export default script(
  `ALTER TABLE connections ADD COLUMN common_callback boolean NOT NULL DEFAULT true`,
  `ALTER TABLE connections ALTER COLUMN common_callback SET DEFAULT false`,
  `ALTER TABLE connect_sessions ADD COLUMN asked jsonb`
)
