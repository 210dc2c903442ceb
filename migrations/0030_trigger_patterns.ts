/** How many different patterns the filters of a trigger have, so that those of an organisation can be counted. */
import { script } from "./policies.js"

export default script(
  "ALTER TABLE triggers ADD COLUMN patterns int NOT NULL DEFAULT 0",
  `UPDATE triggers SET patterns = (
     SELECT count(DISTINCT found) FROM jsonb_path_query(routes, 'lax $[*].filter.** ? (@.op == "matches").value') AS found
   )
   WHERE jsonb_path_exists(routes, 'lax $[*].filter.** ? (@.op == "matches")')`
)
