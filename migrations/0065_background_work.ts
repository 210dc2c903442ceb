/** What a migration leaves for the background: how much of it is left, for the operator. */
import { script } from "./policies.js"

export const oldestBeside = 1

export default script(
  `CREATE TABLE background_work (
     task text PRIMARY KEY,
     -- Jobs that were left when they were last counted; no row: none.
     remaining integer NOT NULL CHECK (remaining > 0),
     counted_at timestamptz NOT NULL DEFAULT now()
   )`,
  "GRANT SELECT, INSERT, UPDATE, DELETE ON background_work TO svc_writer"
)
