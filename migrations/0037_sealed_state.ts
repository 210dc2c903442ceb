/** Values of `svc.state` rest sealed. Those that earlier releases stored are sealed in the background. */
import { script } from "./policies.js"

export default script(
  `ALTER TABLE key_values ALTER COLUMN value DROP NOT NULL, ADD COLUMN sealed bytea,
     ADD CONSTRAINT key_values_stored CHECK ((value IS NULL) <> (sealed IS NULL))`,
  // Sealed bytes cannot be compressed.
  "ALTER TABLE key_values ALTER COLUMN sealed SET STORAGE EXTERNAL",
  // What is left to seal, in the order of the primary key; empty from then on.
  `CREATE INDEX key_values_clear ON key_values (org, space, scope, environment, owner, key) WHERE value IS NOT NULL`
)
