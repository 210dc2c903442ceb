/** The forms of widgets keep the order of their fields, which `jsonb` sorts by the length of their names. */
import { script } from "./policies.js"

export const oldestBeside = 1

export default script(
  // Lock on widgets: an organisation has at most a hundred, and few.
  // Lock on widget_versions: one is written when somebody publishes a widget.
  "ALTER TABLE widgets ALTER COLUMN features TYPE json",
  "ALTER TABLE widget_versions ALTER COLUMN features TYPE json"
)
